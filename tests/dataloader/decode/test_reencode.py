from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from PIL import Image, ImageCms

from forebay.dataloader.decode.reencode import Reencode
from forebay.formats.errors import SourceError


def _encode(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _decode(data):
    image = Image.open(io.BytesIO(data))
    image.load()
    assert image.format == "JPEG"
    return image


def _gradient(width, height):
    x = np.linspace(0, 255, width, dtype=np.uint8)
    pixels = np.stack([np.tile(x, (height, 1))] * 3, -1)
    pixels[: height // 2, :, 0] = 255
    return Image.fromarray(pixels)


@pytest.mark.parametrize(
    ("size", "want"), [((400, 200), (100, 50)), ((200, 400), (50, 100)), ((40, 30), (40, 30))]
)
def test_short_side(size, want):
    image = _decode(Reencode(50, 90)(_encode(_gradient(*size), "PNG")))
    assert image.size == want
    wanted = np.asarray(_gradient(*size).resize(want, Image.Resampling.BOX), np.int16)
    assert np.abs(np.asarray(image, np.int16) - wanted)[5:-5].mean() < 8


def test_orientation_is_applied_and_forgotten():
    exif = Image.Exif()
    exif[0x0112] = 6
    image = _decode(Reencode(50, 95)(_encode(_gradient(200, 100), "JPEG", exif=exif)))
    assert image.size == (50, 100)
    assert image.getexif().get(0x0112, 1) == 1
    pixels = np.asarray(image)
    # Turned clockwise, what was the upper, red half is on the right.
    assert pixels[:, 40:, 0].mean() > 240 > pixels[:30, :10, 0].mean()


def test_profile_is_kept():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = _encode(_gradient(60, 60), "JPEG", icc_profile=profile)
    assert _decode(Reencode(30, 90)(data)).info["icc_profile"] == profile


@pytest.mark.parametrize("mode", ["L", "1", "P", "LA", "RGBA", "I;16", "CMYK"])
def test_modes(mode):
    image = _gradient(40, 40).convert("L" if mode == "I;16" else mode)
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image).astype(np.uint16) * 257)
    kind = "TIFF" if mode in ("CMYK", "LA") else "PNG"
    out = _decode(Reencode(20, 90)(_encode(image, kind)))
    assert out.mode == ("L" if mode in ("L", "1", "I;16") else "RGB")
    assert out.size == (20, 20)
    assert np.asarray(out).std() > 20


def test_transparent_is_white():
    image = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
    assert np.asarray(_decode(Reencode(10, 90)(_encode(image, "PNG")))).min() > 250


def test_quality_and_determinism():
    data = _encode(_gradient(300, 300), "PNG")
    assert len(Reencode(200, 30)(data)) < len(Reencode(200, 95)(data))
    again = pickle.loads(pickle.dumps(Reencode(200, 30)))
    assert again(data) == Reencode(200, 30)(data)


def test_photos(shared_data):
    for file in sorted((shared_data / "imagenet-sample").iterdir())[::100]:
        assert min(_decode(Reencode(64, 85)(file.read_bytes())).size) == 64


def test_odd_images(shared_data):
    for name in ("pil_sample_cmyk.jpg", "hopper_orientation_5.jpg", "hopper.webp"):
        assert (
            min(_decode(Reencode(64, 85)((shared_data / "odd-images" / name).read_bytes())).size)
            == 64
        )
    for name in ("truncated_jpeg.jpg", "broken_data_stream.png", "truncated_image.png"):
        with pytest.raises(SourceError, match="not a whole image"):
            Reencode(64, 85)((shared_data / "odd-images" / name).read_bytes())


@pytest.mark.parametrize("data", [b"", b"hello", b"\xff\xd8\xff"])
def test_no_image(data):
    with pytest.raises(SourceError, match="not a whole image"):
        Reencode(64, 85)(data)
