"""Thumbnails: upright, small, opaque, and never out of what is no image."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from forebay.dataloader.decode.thumbnail import thumbnail
from forebay.dataloader.flow.errors import DecodeError


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def decoded(data):
    image = Image.open(io.BytesIO(data))
    assert image.format == "JPEG"
    return image


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_fits_into_the_square(kind):
    small = decoded(thumbnail(encoded(Image.new("RGB", (400, 100), "red"), kind), 80))
    assert small.size == (80, 20)
    assert np.allclose(np.asarray(small)[10, 40], (255, 0, 0), atol=4)


def test_small_images_keep_their_size():
    assert decoded(thumbnail(encoded(Image.new("RGB", (7, 5)), "PNG"))).size == (7, 5)


@pytest.mark.parametrize("mode", ["L", "P", "1", "CMYK", "I;16", "LA", "RGBA"])
def test_every_mode(mode):
    kind = "TIFF" if mode == "CMYK" else "PNG"
    image = Image.fromarray(np.full((9, 9), 128 << 8, np.uint16)) if mode == "I;16" else None
    small = decoded(thumbnail(encoded(image or Image.new("RGB", (9, 9)).convert(mode), kind)))
    assert (small.mode, small.size) == ("RGB", (9, 9))
    if image:
        assert abs(int(np.asarray(small)[4, 4, 0]) - 128) < 4


def test_transparent_is_white():
    clear = Image.new("RGBA", (20, 20), (255, 0, 0, 0))
    assert np.asarray(decoded(thumbnail(encoded(clear, "PNG")))).min() > 250


@pytest.mark.parametrize("orientation", range(1, 9))
def test_upright(orientation):
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:20, :40] = 255
    exif = Image.Exif()
    exif[0x0112] = orientation
    small = decoded(thumbnail(encoded(Image.fromarray(pixels), "JPEG", exif=exif, quality=95), 80))
    assert small.size == ((80, 40) if orientation < 5 else (40, 80))
    bright = np.asarray(small.convert("L")) > 128
    rows, columns = bright.shape
    corner = {
        1: (0, 0),
        2: (0, 1),
        3: (1, 1),
        4: (1, 0),
        5: (0, 0),
        6: (0, 1),
        7: (1, 1),
        8: (1, 0),
    }
    down, right = corner[orientation]
    halves = bright[down * rows // 2 :][: rows // 2, right * columns // 2 :][:, : columns // 2]
    assert halves.mean() > 0.9
    assert bright.mean() < 0.3


def test_metadata_stays_behind():
    exif = Image.Exif()
    exif[0x010E] = "secret place"
    data = encoded(Image.new("RGB", (50, 50)), "JPEG", exif=exif, comment=b"secret remark")
    assert b"secret" in data
    assert b"secret" not in thumbnail(data)


@pytest.mark.parametrize("data", [b"", b"no image", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"\xff\xd8\xff"])
def test_no_image(data):
    with pytest.raises(DecodeError, match=f"{len(data)} bytes"):
        thumbnail(data)


def test_cut_short():
    data = encoded(Image.effect_noise((90, 90), 90), "PNG")
    with pytest.raises(DecodeError, match="does not decode"):
        thumbnail(data[: len(data) // 2])


def test_a_bomb_is_not_set_off():
    def chunk(kind, body):
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", 9000, 9000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    with pytest.raises(DecodeError, match="9000 x 9000 pixels are more than"):
        thumbnail(data)


def test_odd_images(shared_data):
    broken = {"broken_data_stream.png", "truncated_image.png", "truncated_jpeg.jpg"}
    for path in sorted((shared_data / "odd-images").iterdir()):
        if path.name in broken:
            with pytest.raises(DecodeError):
                thumbnail(path.read_bytes())
        else:
            assert max(decoded(thumbnail(path.read_bytes())).size) <= 160
