"""Resampling: Pillow's pixels, NumPy's tables, both paths, windows, and what is refused."""

import threading

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay import transforms
from forebay.dataloader.decode.spec import Image
from forebay.kernels import _native
from forebay.kernels.resample import fill, needed, resample, resample_portable

IMAGENET = Image(transforms.Resize((8, 8)), transforms.Normalize(*transforms.IMAGENET)).table()
UNIT = Image(transforms.Resize((8, 8)), dtype="float32").table()
BILINEAR = PIL.Image.Resampling.BILINEAR


def noise(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def pillow(image, size):
    picture = PIL.Image.fromarray(image if image.shape[2] == 3 else image[:, :, 0])
    return np.asarray(picture.resize(size[::-1], BILINEAR)).reshape(*size, -1)


def check_like_pillow(image, size, mean=0.3):
    off = np.abs(resample(image, size).astype(int) - pillow(image, size))
    assert off.max() <= 1
    # A handful of pixels has no mean worth the name.
    assert off.size < 3000 or off.mean() < mean


SIDE = st.integers(1, 300)


@settings(deadline=None, max_examples=150)
@given(SIDE, SIDE, SIDE, SIDE, st.sampled_from([1, 3]), st.sampled_from(["noise", "extremes"]))
def test_like_pillow_at_any_size(h, w, height, width, channels, kind):
    image = noise((h, w, channels), h * 301 + w)
    if kind == "extremes":
        # Of zeros and 255 alone, simple ratios make nothing but halves of a level (255 * 0.3 =
        # 76.5), which either side rounds as its last bits fall: there the mean says nothing.
        image = (image >> 7) * np.uint8(255)
    check_like_pillow(image, (height, width), mean=0.3 if kind == "noise" else 1.0)


@pytest.mark.parametrize(
    ("h", "w", "size"),
    [
        (3000, 40, (7, 50)),
        (40, 3000, (50, 7)),
        (2500, 2500, (3, 3)),
        (1, 5000, (1, 1)),
        (9, 9, (1, 1)),
    ],
)
def test_like_pillow_at_large_ratios(h, w, size):
    check_like_pillow(noise((h, w, 3)), size)


def test_like_pillow_on_photos(shared_data):
    paths = sorted((shared_data / "imagenet-sample").glob("*.JPEG"))[::20]
    means = []
    for seed, path in enumerate(paths):
        with PIL.Image.open(path) as picture:
            image = np.asarray(picture.convert("RGB"))
        rng = np.random.default_rng(seed)
        h, w = (int(rng.integers(side // 4, side + 1)) for side in image.shape[:2])
        top = int(rng.integers(0, image.shape[0] - h + 1))
        left = int(rng.integers(0, image.shape[1] - w + 1))
        box = image[top : top + h, left : left + w]
        off = np.abs(resample(box, (224, 224)).astype(int) - pillow(box, (224, 224)))
        assert off.max() <= 1, path
        means.append(off.mean())
    assert max(means) < 0.25


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_vectors_equal_portable_and_windows_are_cuts(data):
    h, w, height, width = (data.draw(st.integers(1, 120)) for _ in range(4))
    channels = data.draw(st.sampled_from([1, 3]))
    image = noise((h, w, channels), h + w)
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    window = (
        top,
        left,
        data.draw(st.integers(1, height - top)),
        data.draw(st.integers(1, width - left)),
    )
    flip = data.draw(st.booleans())
    whole = resample(image, (height, width))
    cut = whole[top : top + window[2], left : left + window[3]]
    expected = cut[:, ::-1] if flip else cut
    for function in (resample, resample_portable):
        got = function(image, (height, width), window=window, flip=flip)
        assert np.array_equal(got, expected)
        planar = function(image, (height, width), window=window, flip=flip, layout="CHW")
        assert np.array_equal(planar, expected.transpose(2, 0, 1))


def stored(values, dtype):
    if dtype != "bfloat16":
        return values.astype(dtype)
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("table", [IMAGENET, UNIT, np.cbrt(IMAGENET), IMAGENET[:1]])
@pytest.mark.parametrize("function", [resample, resample_portable])
def test_values_are_the_table_at_the_resampled_byte(layout, dtype, table, function):
    channels = len(table)
    image = noise((60, 90, channels))
    image[:16, :16, :] = np.arange(256).reshape(16, 16, 1)
    for size in ((60, 90), (37, 41)):
        pixels = resample(image, size)
        looked_up = np.stack([table[c][pixels[:, :, c]] for c in range(channels)], axis=2)
        expected = stored(looked_up, dtype)
        if layout == "CHW":
            expected = expected.transpose(2, 0, 1)
        got = function(image, size, table=table, dtype=dtype, layout=layout)
        assert got.dtype == expected.dtype
        assert got.tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.skipif(not _native.ByteValues("float32", UNIT).linear, reason="no AVX2 here")
@pytest.mark.parametrize(
    ("mean", "std"),
    [
        *[transforms.IMAGENET, ((0.5,) * 3, (0.5,) * 3), ((0.0,) * 3, (1.0,) * 3)],
        ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
        ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    ],
)
def test_usual_normalisations_need_no_look_up(mean, std):
    table = Image(transforms.Resize((8, 8)), transforms.Normalize(mean, std)).table()
    for dtype in ("float32", "float16", "bfloat16"):
        assert _native.ByteValues(dtype, table).linear


def test_the_same_size_is_a_copy():
    image = noise((33, 47, 3))
    assert np.array_equal(resample(image, (33, 47)), image)
    assert np.array_equal(resample(image, (33, 47), flip=True), image[:, ::-1])
    assert np.array_equal(resample(image, (33, 47), layout="CHW"), image.transpose(2, 0, 1))


def test_rows_may_lie_apart():
    image = noise((80, 100, 3))
    box = image[10:70, 20:90]
    assert np.array_equal(resample(box, (20, 30)), resample(box.copy(), (20, 30)))
    assert np.array_equal(resample(image[::-2], (20, 30)), resample(image[::-2].copy(), (20, 30)))
    with pytest.raises(ValueError, match="each row of the image must be contiguous"):
        resample(image[:, ::2], (20, 30))


@given(st.integers(1, 2000), st.integers(1, 300), st.data())
def test_needed_covers_each_output_and_no_more(in_size, out_size, data):
    offset = data.draw(st.integers(0, out_size - 1))
    count = data.draw(st.integers(1, out_size - offset))
    single = [needed(in_size, out_size, i, 1) for i in range(offset, offset + count)]
    assert needed(in_size, out_size, offset, count) == (single[0][0], single[-1][1])
    assert all(0 <= first < last <= in_size for first, last in single)


def test_fill_writes_the_value_of_byte_zero():
    for dtype, kind in (("float32", np.float32), ("float16", np.float16), ("bfloat16", np.uint16)):
        out = np.full((3, 40, 401), 77, kind)
        fill(out, table=IMAGENET, dtype=dtype, layout="CHW")
        for c in range(3):
            assert (out[c] == stored(IMAGENET[c, :1], dtype)).all()
    out = np.full((7, 401, 3), 77, np.float32)
    fill(out, table=IMAGENET, dtype="float32")
    assert (out == IMAGENET[:, 0]).all()


def test_shapes_are_refused_with_a_sentence():
    image = noise((10, 12, 3))
    with pytest.raises(ValueError, match=r"\(0, 0, 9, 8\) does not lie inside size \(8, 8\)"):
        resample(image, (8, 8), window=(0, 0, 9, 8))
    with pytest.raises(ValueError, match=r"of \(10, 12\) pixels and 2 channels"):
        resample(image[:, :, :2].copy(), (8, 8))
    with pytest.raises(ValueError, match="got shape"):
        resample(image[:, :, 0], (8, 8))
    with pytest.raises(ValueError, match="needs one"):
        resample(image, (8, 8), dtype="float32")
    with pytest.raises(ValueError, match="got 'int8'"):
        resample(image, (8, 8), dtype="int8")
    with pytest.raises(ValueError, match="got 'NHWC'"):
        resample(image, (8, 8), layout="NHWC")
    with pytest.raises(ValueError, match="as the table has"):
        resample(image, (8, 8), table=IMAGENET[:1], dtype="float32")
    with pytest.raises(ValueError, match="inside the output"):
        needed(10, 5, 3, 3)


def test_out_is_checked_by_the_binding():
    image, values = noise((10, 12, 3)), _native.ByteValues("uint8", None)
    run = _native.Resampler().run
    whole = ((8, 8), (0, 0, 8, 8))
    with pytest.raises(ValueError, match="another dtype"):
        run(image, values, *whole, np.zeros((8, 8, 3), np.int16), (0, 0), False, False)
    with pytest.raises(ValueError, match="out has 8 channels in that layout, the image 3"):
        run(image, values, *whole, np.zeros((8, 8, 3), np.uint8), (0, 0), True, False)
    with pytest.raises(ValueError, match=r"placed at \(1, 0\)"):
        run(image, values, *whole, np.zeros((8, 8, 3), np.uint8), (1, 0), False, False)
    frozen = np.zeros((8, 8, 3), np.uint8)
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        run(image, values, *whole, frozen, (0, 0), False, False)
    with pytest.raises(TypeError):
        run(image, values, *whole, np.zeros((8, 16, 3), np.uint8)[:, ::2], (0, 0), False, False)


def test_threads_have_scratch_of_their_own():
    images = [noise((50 + 30 * i, 400 - 20 * i, 3), i) for i in range(8)]
    expected = [resample(image, (61, 67), layout="CHW") for image in images]
    wrong = []

    def work(i):
        for _ in range(50):
            if not np.array_equal(resample(images[i], (61, 67), layout="CHW"), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
