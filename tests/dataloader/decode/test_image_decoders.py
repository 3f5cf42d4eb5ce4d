"""The reference decoder, against Pillow by hand; and bytes that are no image."""

from __future__ import annotations

import contextlib
import io
import math

import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.decode.draws import field_key, uniforms
from forebay.dataloader.decode.image import choice
from forebay.dataloader.decode.image.native import NativeDecoder
from forebay.dataloader.decode.image.pillow import PillowDecoder
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.errors import DecodeError
from forebay.dataloader.flow.scratch import Scratch
from forebay.kernels import jpeg_sample

T = fb.transforms
BROKEN = ("truncated_jpeg.jpg", "broken_data_stream.png", "truncated_image.png")
TURNED = {
    "hopper_orientation_2.jpg": PIL.Image.Transpose.FLIP_LEFT_RIGHT,
    "hopper_orientation_5.jpg": PIL.Image.Transpose.TRANSPOSE,
    "hopper_orientation_6.jpg": PIL.Image.Transpose.ROTATE_270,
    "hopper_orientation_8.jpg": PIL.Image.Transpose.ROTATE_90,
}
SIDE = 48


@pytest.fixture(
    autouse=True,
    params=[
        "pillow",
        pytest.param(
            "native",
            marks=pytest.mark.skipif(not jpeg_sample.available(), reason="built without JPEG"),
        ),
    ],
)
def backend(request, monkeypatch):
    """Every test of this page is an exam of both decoders."""
    monkeypatch.setattr(choice, "available", lambda: request.param == "native")
    return request.param


def decode(data, spec, u=()):
    out = np.zeros((3, *spec.shape), spec.stored)
    values = np.frombuffer(b"before" + data + b"after", np.uint8)
    one = [values[6 : 6 + len(data)].data]
    decoder = choice.image_decoder(spec, Scratch(Budget(10**9), "decode"))
    bad = decoder.decode(one, [list(u)], out, np.array([1]))
    if bad:
        ((place, error),) = bad.items()
        assert place == 1
        raise error
    assert not out[[0, 2]].any()
    return out[1]


def assert_pillow_s(got, expected, backend):
    """Equal bytes by Pillow itself; within one level of it by the native resampling."""
    apart = np.abs(got.astype(np.int16) - expected.astype(np.int16))
    assert apart.max() <= (backend == "native")
    assert apart.mean() < 0.3


def window(size, u):
    """A RandomResizedCrop window of these draws, by the documented algorithm: (left, top, w, h)."""
    width, height = size
    for i in range(10):
        area = height * width * (0.08 + 0.92 * u[2 * i])
        aspect = math.exp(math.log(3 / 4) + math.log(16 / 9) * u[2 * i + 1])
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if w <= width and h <= height:
            return int(u[21] * (width - w + 1)), int(u[20] * (height - h + 1)), w, h
    raise AssertionError("no window fits: choose other photos")


@pytest.fixture(scope="module")
def photos(shared_data):
    files = sorted((shared_data / "imagenet-sample").glob("*.JPEG"))[::33][:30]
    return [f.read_bytes() for f in files]


@pytest.fixture(scope="module")
def packed(photos, tmp_path_factory):
    path = tmp_path_factory.mktemp("photos")
    records = [{"image": p, "label": i} for i, p in enumerate(photos)]
    fb.write_dataset(path / "d", records, {"image": "jpeg", "label": "int64"}, format="recordio")
    return fb.open_dataset(path / "d", columns=["image", "label"])


def test_the_training_pipeline_is_pillow_s(photos, packed, backend):
    image = fb.Image(T.RandomResizedCrop(SIDE), T.RandomHorizontalFlip(), T.Normalize(*T.IMAGENET))
    loader = fb.DataLoader(
        packed, 7, shuffle=True, seed=4, decode={"image": image}, num_workers=2, memory="300MB"
    )
    loader.set_epoch(2)
    mean, std = (np.array(v)[:, None, None] for v in T.IMAGENET)
    key, flips = field_key(4, 2, "image"), 0
    for images, labels in loader:
        assert images.dtype == torch.float32
        drawn = uniforms(key, loader.batch_info.positions, 23).tolist()
        for got, label, u in zip(images, labels.tolist(), drawn, strict=True):
            by_hand = PIL.Image.open(io.BytesIO(photos[label])).convert("RGB")
            left, top, w, h = window(by_hand.size, u)
            by_hand = by_hand.crop((left, top, left + w, top + h))
            by_hand = by_hand.resize((SIDE, SIDE), PIL.Image.Resampling.BILINEAR)
            if u[22] < 0.5:
                flips += 1
                by_hand = by_hand.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT)
            levels = (got.numpy().astype(np.float64) * std + mean) * 255
            assert np.abs(levels - levels.round()).max() < 1e-3
            assert_pillow_s(levels.round(), np.asarray(by_hand).transpose(2, 0, 1), backend)
            if backend == "pillow":
                expected = (np.asarray(by_hand).transpose(2, 0, 1) / 255 - mean) / std
                assert (got.numpy() == expected.astype(np.float32)).all()
    assert 5 < flips < 25


def test_the_evaluation_pipeline_is_pillow_s(photos, packed, backend):
    image = fb.Image(T.Resize(64), T.CenterCrop(56), layout="HWC")
    loader = fb.DataLoader(packed, 30, decode={"image": image}, memory="300MB")
    ((images, labels),) = loader
    assert labels.tolist() == list(range(30))
    for got, photo in zip(images, photos, strict=True):
        by_hand = PIL.Image.open(io.BytesIO(photo)).convert("RGB")
        w, h = by_hand.size
        size = (64, int(64 * h / w)) if w <= h else (int(64 * w / h), 64)
        by_hand = by_hand.resize(size, PIL.Image.Resampling.BILINEAR)
        left, top = round((size[0] - 56) / 2), round((size[1] - 56) / 2)
        by_hand = by_hand.crop((left, top, left + 56, top + 56))
        assert_pillow_s(got.numpy(), np.asarray(by_hand), backend)


def whole(data):
    """The image upright in RGB, and a description that keeps its size."""
    upright = PIL.ImageOps.exif_transpose(PIL.Image.open(io.BytesIO(data)))
    pixels = np.asarray(upright.convert("RGB"))
    return pixels, fb.Image(T.CenterCrop(pixels.shape[:2]), layout="HWC")


def test_odd_images_are_pillow_s_pixels_or_an_error(shared_data):
    files = sorted((shared_data / "odd-images").iterdir())
    decoded = []
    for file in files:
        data = file.read_bytes()
        try:
            expected, spec = whole(data)
        except (OSError, SyntaxError):
            assert file.name in BROKEN, file.name
            with pytest.raises(DecodeError, match=f"image of {len(data)} bytes does not decode"):
                decode(data, fb.Image(T.Resize((8, 8))))
            continue
        assert (decode(data, spec) == expected).all(), file.name
        decoded.append(file.name)
    assert len(decoded) + len(BROKEN) == len(files)
    assert {"pil_sample_cmyk.jpg", "hopper_gray.jpg", "hopper.webp", *TURNED} <= set(decoded)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_images_are_refused(shared_data, name):
    with pytest.raises(DecodeError):
        decode((shared_data / "odd-images" / name).read_bytes(), fb.Image(T.Resize((8, 8))))


@pytest.mark.parametrize("name", TURNED)
def test_orientation_is_applied(shared_data, name):
    data = (shared_data / "odd-images" / name).read_bytes()
    lying = PIL.Image.open(io.BytesIO(data)).convert("RGB")
    upright = np.asarray(lying.transpose(TURNED[name]))
    got = decode(data, fb.Image(T.CenterCrop(upright.shape[:2]), layout="HWC"))
    assert (got == upright).all()


@pytest.mark.parametrize("color", ["RGB", "L"])
@pytest.mark.parametrize("name", ["hopper_gray.jpg", "pil_sample_cmyk.jpg", "hopper.png"])
def test_colours_are_converted_as_pillow_does(shared_data, name, color):
    data = (shared_data / "odd-images" / name).read_bytes()
    image = PIL.Image.open(io.BytesIO(data)).convert(color)
    expected = np.asarray(image).reshape(image.height, image.width, -1)
    size = (image.height, image.width)
    assert (decode(data, fb.Image(T.CenterCrop(size), color=color, layout="HWC")) == expected).all()
    planes = decode(data, fb.Image(T.CenterCrop(size), color=color))
    assert (planes == expected.transpose(2, 0, 1)).all()
    scaled = decode(data, fb.Image(T.CenterCrop(size), color=color, dtype="float32"))
    assert (scaled == planes / np.float32(255)).all()


def test_what_lies_outside_the_image_is_zero():
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (3, 2), (9, 8, 7)).save(buffer, "PNG")
    got = decode(buffer.getvalue(), fb.Image(T.CenterCrop(6), layout="HWC"))
    assert (got[2:4, 1:4] == (9, 8, 7)).all()
    assert got.sum() == 6 * (9 + 8 + 7)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an image",
        b"\xff\xd8\xff",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n",
        b"GIF89a" + bytes(20),
        b"RIFF\x10\x00\x00\x00WEBPVP8 ",
    ],
)
def test_bytes_that_are_no_image_are_refused(data):
    with pytest.raises(DecodeError, match=f"image of {len(data)} bytes does not decode: "):
        decode(data, fb.Image(T.Resize((4, 4))))


def test_bytes_of_no_format_are_said_to_be_that():
    with pytest.raises(DecodeError, match=r"7 bytes .* has no whole header of JPEG or PNG"):
        decode(b"nothing", fb.Image(T.CenterCrop(8)))


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_of_a_long_strip_scaled_up_only_the_part_that_is_kept_is_made(format, monkeypatch):
    pixels = np.zeros((3, 65500, 3), np.uint8)
    pixels[:, 32750:] = 255
    file = io.BytesIO()
    PIL.Image.fromarray(pixels).save(file, format)
    made = []
    resize = PIL.Image.Image.resize
    monkeypatch.setattr(
        PIL.Image.Image,
        "resize",
        lambda image, size, *more, **named: (
            made.append(size) or resize(image, size, *more, **named)
        ),
    )
    # The whole would be 224 x 4,890,666 pixels.
    got = decode(file.getvalue(), fb.Image(T.Resize(224), T.CenterCrop(224)))
    assert made == [(224, 224)]
    assert (got[:, :, 0] < 20).all()
    assert (got[:, :, -1] > 235).all()


def test_plugins_that_run_programs_are_not_asked():
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (8, 8)).save(buffer, "EPS")
    with pytest.raises(DecodeError, match="no whole header of"):
        decode(buffer.getvalue(), fb.Image(T.Resize((4, 4))))


def test_an_image_of_absurd_size_is_refused_before_its_pixels_are_allocated():
    header = b"BM" + (54).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    side = (100_000).to_bytes(4, "little")
    data = header + (40).to_bytes(4, "little") + side + side + b"\1\0\x18\0" + bytes(24)
    with pytest.raises(DecodeError, match="decompression bomb"):
        decode(data, fb.Image(T.Resize((4, 4))))


def encoded(kind):
    pixels = np.random.default_rng(0).integers(0, 256, (11, 13, 3), np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


SAMPLES = {k: encoded(k) for k in ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM")}


# Pillow warns of damage that it reads round.
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(sorted(SAMPLES)),
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4),
    keep=st.floats(0.3, 1),
)
def test_damage_ends_in_pixels_or_in_a_decode_error(kind, changes, keep):
    data = bytearray(SAMPLES[kind])
    for place, value in changes:
        data[int(place * (len(data) - 1))] = value
    with contextlib.suppress(DecodeError):
        decode(bytes(data[: int(keep * len(data))]), fb.Image(T.Resize((4, 4))))


def smooth(height, width, orientation=1, **options):
    """A JPEG of soft colours, of this size upright."""
    stored = (width, height) if orientation >= 5 else (height, width)
    noise = np.random.default_rng(height).integers(0, 256, (9, 12, 3), np.uint8)
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    image = PIL.Image.fromarray(noise).resize(stored[::-1], PIL.Image.Resampling.BICUBIC)
    image.save(out, "JPEG", quality=95, exif=exif, **options)
    return out.getvalue()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("size", [(640, 480), (333, 517), (91, 97), (47, 48)])
def test_reduced_is_another_filter_of_the_same_picture(size, orientation):
    data = smooth(*size, orientation)
    steps = (T.Resize((40, 44)), T.RandomHorizontalFlip(1.0))
    exact = decode(data, fb.Image(*steps, layout="HWC"), [0.5])
    reduced = decode(data, fb.Image(*steps, layout="HWC", reduced=True), [0.5])
    apart = np.abs(exact.astype(int) - reduced.astype(int))
    if min(size) < 2 * 44:
        assert apart.max() == 0, "it is not large enough to be reduced"
    else:
        assert 0 < apart.max() <= 24
        assert apart.mean() < 2


@settings(max_examples=25, deadline=None)
@given(
    u=st.lists(st.floats(0, 1, exclude_max=True), min_size=23, max_size=23),
    orientation=st.integers(1, 8),
    size=st.tuples(st.integers(100, 300), st.integers(100, 300)),
    progressive=st.booleans(),
)
def test_reduced_is_the_same_by_both_decoders(u, orientation, size, progressive):
    if not jpeg_sample.available():
        pytest.skip("built without JPEG")
    data = smooth(*size, orientation, progressive=progressive)
    steps = (T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.CenterCrop((26, 22)))
    spec = fb.Image(*steps, layout="HWC", reduced=True)
    made = []
    for kind in (NativeDecoder, PillowDecoder):
        out = np.zeros((1, *spec.shape), np.uint8)
        assert not kind(spec, Scratch(Budget(10**9), "decode")).decode(
            [memoryview(data)], [u], out, np.array([0])
        )
        made.append(out.astype(int))
    apart = np.abs(made[0] - made[1])
    assert apart.max() <= 1
    assert apart.mean() < 0.3


def test_reduced_says_so():
    assert "reduced=True" in repr(fb.Image(T.Resize((4, 4)), reduced=True))
    assert "reduced" not in repr(fb.Image(T.Resize((4, 4))))
