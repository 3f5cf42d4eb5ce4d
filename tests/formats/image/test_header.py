from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, UnidentifiedImageError

from forebay.formats.image.header import ImageInfo, probe

HEADS = [
    b"\xff\xd8\xff",
    b"\xff\xd8\xff\xe1\x00\x40Exif\0\0II*\0\x08\0\0\0",
    b"\xff\xd8\xff\xe1\x00\x40Exif\0\0MM\0*\0\0\0\x08",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"RIFF\0\0\0\0WEBPVP8X",
    b"RIFF\0\0\0\0WEBPVP8 ",
    b"RIFF\0\0\0\0WEBPVP8L",
    b"GIF89a",
    b"BM",
    b"II*\0",
    b"MM\0*",
]


def _image(height: int = 5, width: int = 7) -> Image.Image:
    pixels = np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)
    return Image.fromarray(pixels)


def _encoded(kind: str, **options) -> bytes:
    out = io.BytesIO()
    _image().save(out, kind, **options)
    return out.getvalue()


def test_every_photo_as_pillow_sees_it(shared_data):
    files = sorted((shared_data / "imagenet-sample").glob("*.JPEG"))
    assert len(files) == 1000
    for file in files:
        with Image.open(file) as image:
            turned = image.getexif().get(0x0112, 1) or 1  # one photo says 0, which means nothing
            want = ImageInfo("jpeg", image.height, image.width, turned)
        assert probe(file.read_bytes()) == want, file.name


def test_odd_images_as_pillow_sees_them(shared_data):
    seen = 0
    for file in sorted((shared_data / "odd-images").iterdir()):
        try:
            with Image.open(file) as image:
                kind, size = image.format, image.size
                turned = image.getexif().get(0x0112, 1)
        except (UnidentifiedImageError, OSError):
            kind = None
        info = probe(memoryview(file.read_bytes()))
        if kind is None:
            continue
        assert info is not None, file.name
        assert (info.encoding.upper(), (info.width, info.height)) == (kind, size), file.name
        assert info.orientation == turned, file.name
        seen += 1
    assert seen >= 17


@pytest.mark.parametrize("turned", range(1, 9))
@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "tiff"])
def test_orientation_of(kind, turned):
    exif = Image.Exif()
    exif[0x0112] = turned
    options = {"tiffinfo": {274: turned}} if kind == "tiff" else {"exif": exif}
    assert probe(_encoded(kind, **options)) == ImageInfo(kind, 5, 7, turned)


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "gif", "bmp", "tiff"])
def test_plain(kind):
    assert probe(_encoded(kind)) == ImageInfo(kind, 5, 7)


def test_lossless_webp():
    assert probe(_encoded("webp", lossless=True)) == ImageInfo("webp", 5, 7)


def test_big_endian_exif():
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0)
    tiff = b"MM\0*\0\0\0\x08" + struct.pack(">H", 1) + entry + b"\0\0\0\0"
    body = b"Exif\0\0" + tiff
    plain = _encoded("jpeg")
    turned = plain[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + plain[2:]
    assert probe(turned) == ImageInfo("jpeg", 5, 7, 6)
    wrong = turned.replace(struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0), entry[:8] + b"\0\x09\0\0")
    assert probe(wrong) == ImageInfo("jpeg", 5, 7, 1)


def test_fill_bytes_and_junk_between_markers():
    plain = _encoded("jpeg")
    assert probe(plain[:2] + b"\xff" * 100 + plain[2:]) == ImageInfo("jpeg", 5, 7)
    length = struct.unpack(">H", plain[4:6])[0]
    cut = 4 + length
    assert probe(plain[:cut] + b"\0\x01junk\xff\0" + plain[cut:]) == ImageInfo("jpeg", 5, 7)


def test_upside_down_bmp():
    data = bytearray(_encoded("bmp"))
    data[22:26] = struct.pack("<i", -5)
    assert probe(bytes(data)) == ImageInfo("bmp", 5, 7)


def test_not_images():
    for data in (b"", b"\xff\xd8", b"hello", b"\x89PNG\r\n\x1a\n", b"GIF89a\0\0\0\0"):
        assert probe(data) is None


@given(st.sampled_from([b"", *HEADS]), st.binary(max_size=300))
def test_any_bytes(head, tail):
    info = probe(head + tail)
    assert info is None or (info.height > 0 and info.width > 0 and 1 <= info.orientation <= 8)


@given(st.sampled_from(["jpeg", "png", "webp", "gif", "bmp", "tiff"]), st.data())
def test_damaged_images(kind, data):
    whole = bytearray(_encoded(kind))
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    probe(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


@pytest.mark.parametrize("fill", [b"\xff", b"\0", b"\xff\xd0", b"\xff\xe0\0\2"])
@pytest.mark.timeout(10)
def test_hostile_repetition_ends_soon(fill):
    for head in HEADS:
        probe(head + fill * (4 << 20))
