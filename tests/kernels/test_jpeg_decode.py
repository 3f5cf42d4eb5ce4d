"""Windows of JPEGs by the native decoder, bit for bit what Pillow's whole decode has there."""

import io
import random
import threading

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.kernels import _native
from forebay.kernels.jpeg_decode import DamagedJpeg, UnsupportedJpeg, decode
from forebay.kernels.jpeg_slice import row_starts, slice_of

pytestmark = pytest.mark.skipif(
    not hasattr(_native, "JpegDecoder"), reason="built without libjpeg-turbo's headers"
)


def pillow(data, color="RGB"):
    with PIL.Image.open(io.BytesIO(data)) as image:
        pixels = np.asarray(image.convert(color))
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def cut(pixels, window):
    top, left, height, width = window
    return pixels[top : top + height, left : left + width]


def resized_crop(height, width, rng):
    """A window with an area of 8 to 100 % and the shape of RandomResizedCrop."""
    for _ in range(10):
        area = height * width * rng.uniform(0.08, 1)
        ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return rng.randint(0, height - h), rng.randint(0, width - w), h, w
    return 0, 0, height, width


def windows(height, width, rng):
    side = min(height, width) * 7 // 8 or 1
    yield 0, 0, height, width
    yield (height - side) // 2, (width - side) // 2, side, side
    for _ in range(3):
        yield resized_crop(height, width, rng)
    yield rng.randrange(height), rng.randrange(width), 1, 1
    yield 0, 0, 1, 1
    yield height - 1, width - 1, 1, 1
    strip = rng.randint(1, 20)
    yield 0, 0, min(strip, height), width
    yield max(height - strip, 0), 0, min(strip, height), width
    yield 0, 0, height, min(strip, width)
    yield 0, max(width - strip, 0), height, min(strip, width)


def seekable(data, interval):
    transcode = pytest.importorskip("forebay.kernels.jpeg_transcode").transcode
    return transcode(data, max_interval=interval).data


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", range(0, 1000, 250))  # parts, which processes share
def test_photos(shared_data, first):
    """Slices by Pillow, the decoder on seekable files and on plain ones: all 1,000 photos."""
    files = sorted((shared_data / "imagenet-sample").iterdir())
    kept = 0
    for number, file in list(enumerate(files))[first : first + 250]:
        rng = random.Random(number)
        data = file.read_bytes()
        whole = pillow(data)
        parts = seekable(data, 8 if number % 4 else rng.choice([4, 16]))
        kept += parts is None
        for window in windows(*whole.shape[:2], rng):
            want = cut(whole, window)
            assert np.array_equal(decode(data, window), want), (file.name, window)
            if parts is None:
                continue
            assert np.array_equal(decode(parts, window), want), (file.name, window, "seekable")
            small, (top, left) = slice_of(parts, window)
            got = cut(pillow(small), (top, left, *window[2:]))
            assert np.array_equal(got, want), (file.name, window, "slice")
    assert len(files) == 1000
    assert kept <= 3  # at short intervals a few become larger, and are kept as they are


@pytest.mark.long
def test_entropy_decoders_agree(shared_data):
    """Every coefficient shows in the pixels of the whole image: an error of one bit would."""
    for file in sorted((shared_data / "imagenet-sample").iterdir())[::4]:
        data = file.read_bytes()
        own, libjpeg = decode(data, entropy="own"), decode(data, entropy="libjpeg")
        assert np.array_equal(own, libjpeg), file.name


def test_luma_of_photos(shared_data):
    for file in sorted((shared_data / "imagenet-sample").iterdir())[::25]:
        data = file.read_bytes()
        assert np.array_equal(decode(data, color="L"), pillow(data, "L")), file.name


def test_scaled_photos(shared_data):
    """Against Pillow's draft, which decodes at the same parts of the size."""
    for number, file in enumerate(sorted((shared_data / "imagenet-sample").iterdir())[::50]):
        data = file.read_bytes()
        for denominator in (2, 4, 8):
            with PIL.Image.open(io.BytesIO(data)) as image:
                image.draft(image.mode, (image.width // denominator, image.height // denominator))
                whole = np.asarray(image.convert("RGB"))
            for window in windows(*whole.shape[:2], random.Random(number)):
                got = decode(data, window, denominator=denominator)
                assert np.array_equal(got, cut(whole, window)), (file.name, window, denominator)


def test_odd_images(shared_data):
    """Each decodes as Pillow decodes it, or says what it is."""
    damaged, unsupported = set(), set()
    for file in sorted((shared_data / "odd-images").iterdir()):
        data = file.read_bytes()
        try:
            got = decode(data)
        except DamagedJpeg:
            damaged.add(file.name)
        except UnsupportedJpeg:
            unsupported.add(file.name)
        else:
            assert np.array_equal(got, pillow(data)), file.name
    assert {n for n in damaged if n.endswith(".jpg")} == {"truncated_jpeg.jpg"}
    assert unsupported == {"arithmetic.jpg", "pil_sample_cmyk.jpg"}


NOISE = PIL.Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8))
SCENE = NOISE.resize((170, 170), PIL.Image.Resampling.BICUBIC)


@st.composite
def made(draw):
    """(bytes, height, width) of a JPEG by Pillow, and whether it is seekable."""
    width, height = draw(st.integers(1, 160)), draw(st.integers(1, 160))
    grey = draw(st.booleans())
    options = {
        "quality": draw(st.integers(20, 100)),
        "subsampling": draw(st.sampled_from(["4:4:4", "4:2:2", "4:2:0"])),
        "optimize": draw(st.booleans()),
    }
    mcu = 8 if grey or options["subsampling"] == "4:4:4" else 16
    a_row = -(-width // mcu)
    kind = draw(st.sampled_from(["plain", "progressive", "seekable", "restarts"]))
    if kind == "progressive":
        options["progressive"] = True
    elif kind == "seekable":
        options["restart_marker_blocks"] = draw(
            st.sampled_from([n for n in range(1, a_row + 1) if a_row % n == 0])
        )
    elif kind == "restarts":
        options["restart_marker_blocks"] = draw(st.integers(1, 3 * a_row))
    image = SCENE.crop((5, 3, 5 + width, 3 + height))
    out = io.BytesIO()
    (image.convert("L") if grey else image).save(out, "JPEG", **options)
    return out.getvalue(), height, width, kind == "seekable"


def window_of(data, height, width):
    h = data.draw(st.integers(1, height))
    w = data.draw(st.integers(1, width))
    return data.draw(st.integers(0, height - h)), data.draw(st.integers(0, width - w)), h, w


@settings(deadline=None, max_examples=300)
@given(made(), st.data())
def test_any_window_of_any_jpeg(jpeg, data):
    encoded, height, width, is_seekable = jpeg
    window = window_of(data, height, width)
    whole = pillow(encoded)
    want = cut(whole, window)
    assert np.array_equal(decode(encoded, window), want)
    assert np.array_equal(decode(encoded, window, entropy="libjpeg"), want)
    assert np.array_equal(decode(encoded, window, color="L"), cut(pillow(encoded, "L"), window))
    if is_seekable:
        small, (top, left) = slice_of(encoded, window)
        assert np.array_equal(cut(pillow(small), (top, left, *window[2:])), want)
        assert np.array_equal(decode(encoded, window, row_starts=row_starts(encoded)), want)


@settings(deadline=None, max_examples=60)
@given(made(), st.data())
def test_scaled_windows_of_any_jpeg(jpeg, data):
    encoded, height, width = jpeg[:3]
    denominator = data.draw(st.sampled_from([2, 4, 8]))
    whole = decode(encoded, denominator=denominator)
    assert whole.shape[:2] == (-(-height // denominator), -(-width // denominator))
    window = window_of(data, *whole.shape[:2])
    got = decode(encoded, window, denominator=denominator)
    assert np.array_equal(got, cut(whole, window))


def saved(size=(40, 24), **options):
    out = io.BytesIO()
    SCENE.crop((0, 0, *size)).save(out, "JPEG", **options)
    return out.getvalue()


@pytest.mark.parametrize("options", [{}, {"restart_marker_rows": 1}, {"progressive": True}])
@pytest.mark.parametrize("window", [None, (0, 0, 2, 2)])
def test_a_truncated_image_is_damaged(options, window):
    data = saved(**options)
    for size in range(len(data)):
        with pytest.raises(DamagedJpeg):
            decode(data[:size], window)


def test_bytes_after_the_end_are_not_the_images():
    data = saved()
    assert np.array_equal(decode(data + b"\0" * 5), decode(data))


@pytest.mark.parametrize("options", [{}, {"restart_marker_rows": 1}, {"progressive": True}])
def test_any_byte_may_be_any_other(options):
    good = saved(size=(24, 20), **options)
    rng = random.Random(3)
    for at in range(len(good)):
        data = bytearray(good)
        data[at] ^= 1 << rng.randrange(8)
        try:
            pixels = decode(data)
        except (DamagedJpeg, UnsupportedJpeg, MemoryError):
            continue
        assert pixels.ndim == 3


def test_a_lost_marker_is_damage():
    data = bytearray(saved(size=(64, 64), restart_marker_rows=1))
    at = data.index(b"\xff\xd1")
    data[at + 1] = 0xD5
    with pytest.raises(DamagedJpeg, match="restart marker is missing"):
        decode(data)
    with pytest.raises(DamagedJpeg):
        decode(data, entropy="libjpeg")


def test_threads_have_decoders_of_their_own():
    images = [saved(size=(100, 90), restart_marker_blocks=1), saved(size=(90, 100))]
    want = [pillow(image) for image in images]
    wrong = []

    def work(which):
        rng = random.Random(which)
        for _ in range(300):
            window = resized_crop(*want[which].shape[:2], rng)
            if not np.array_equal(decode(images[which], window), cut(want[which], window)):
                wrong.append(window)

    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_is_refused():
    data = saved()
    for window in [(0, 0, 25, 1), (24, 0, 1, 1), (0, 40, 1, 1), (0, 39, 1, 2)]:
        with pytest.raises(ValueError, match=f"not lie inside the image: .{window[0]}, "):
            decode(data, window)
    for window in [(0, 0, 0, 1), (-1, 0, 1, 1), (0, 0, 1, 1 << 20)]:
        with pytest.raises(ValueError, match="window must be"):
            decode(data, window)
    with pytest.raises(ValueError, match="got 3"):
        decode(data, denominator=3)
    with pytest.raises(ValueError, match="got 'CMYK'"):
        decode(data, color="CMYK")
    with pytest.raises(ValueError, match="got 'fast'"):
        decode(data, entropy="fast")
    with pytest.raises(DamagedJpeg, match="FF D8 FF"):
        decode(b"\x89PNG\r\n\x1a\n")
    cmyk = io.BytesIO()
    SCENE.convert("CMYK").save(cmyk, "JPEG")
    with pytest.raises(UnsupportedJpeg, match="CMYK"):
        decode(cmyk.getvalue())


def test_a_promise_of_pixels_takes_no_memory():
    data = bytearray(saved())
    at = data.index(b"\xff\xc0")
    data[at + 5] = data[at + 7] = 0xFF
    with pytest.raises(MemoryError, match="more memory than allowed"):
        decode(data)
    with pytest.raises(DamagedJpeg):
        decode(data, (65000, 0, 1, 1))
