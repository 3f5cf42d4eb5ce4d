"""One file is turned one way: by the native decoder, by the prober, and by Pillow."""

from __future__ import annotations

import io
import struct
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from forebay.formats.image.header import probe
from forebay.kernels import _native, jpeg_header

XMP = b"http://ns.adobe.com/xap/1.0/\0"


def encoded(*segments: bytes, kind: str = "JPEG", **options) -> bytes:
    """A picture, with APP1 segments where it is JPEG."""
    out = io.BytesIO()
    Image.new("L", (24, 16)).save(out, kind, **options)
    data = out.getvalue()
    app1 = b"".join(b"\xff\xe1" + struct.pack(">H", len(s) + 2) + s for s in segments)
    return data[:2] + app1 + data[2:] if app1 else data


def pillows(data: bytes) -> int:
    """The orientation by which Pillow's exif_transpose turns."""
    with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data)) as image:
        image.load()
        try:
            value = image.getexif().get(0x0112, 1)
        except (SyntaxError, struct.error):  # of EXIF that is none
            return 1
    # Rationals and texts are left out: of the former it would believe 6/1.
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def ours(data: bytes) -> int:
    """The prober's, which the native decoder shares where there is one."""
    info = probe(data)
    assert info is not None
    if info.encoding == "jpeg" and hasattr(_native, "jpeg_headers"):
        assert jpeg_header.headers([data])["orientation"].tolist() == [info.orientation]
    return info.orientation


@pytest.mark.parametrize("way", range(10))
@pytest.mark.parametrize(
    "text", ['tiff:Orientation="{}"', "<tiff:Orientation>{}</tiff:Orientation>"]
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_xmp(way, text, kind):
    packet = text.format(way).encode()
    if kind == "JPEG":
        data = encoded(XMP + packet)
    elif kind == "WEBP":
        data = encoded(kind=kind, xmp=packet, lossless=True)
    else:
        info = PngInfo()
        info.add_itxt("XML:com.adobe.xmp", packet.decode())
        data = encoded(kind=kind, pnginfo=info)
    assert ours(data) == pillows(data) == (way if 1 <= way <= 8 else 1)


def test_exif_hides_xmp_and_the_last_packet_counts():
    exif = b"Exif\0\0" + tiff("<", b"II*\0", 8, [(0x112, 3, 1, struct.pack("<HH", 6, 0))])
    without = b"Exif\0\0" + tiff("<", b"II*\0", 8, [(0x100, 3, 1, struct.pack("<HH", 6, 0))])
    packets = [XMP + f'tiff:Orientation="{way}"'.encode() for way in (3, 8)]
    for segments, want in (
        ([packets[0], exif], 6),
        ([without, *packets], 8),
        ([packets[1], without, packets[0]], 3),
        ([b"Exif\0\0nonsense", packets[0]], 1),
        ([b"Exif\0\0", packets[0]], 3),
        ([b"Exif\0\0II*\0", packets[0]], 1),
    ):
        data = encoded(*segments)
        assert ours(data) == pillows(data) == want, segments


def tiff(order: str, mark: bytes, at: int, entries: list, after: bytes = bytes(4)) -> bytes:
    """A structure of one directory at offset `at`, its entries as (tag, type, count, 4 bytes)."""
    body = b"".join(struct.pack(order + "HHL", *e[:3]) + e[3] for e in entries)
    count = struct.pack(order + "H", len(entries))
    return mark + struct.pack(order + "L", at) + bytes(max(0, at - 8)) + count + body + after


@st.composite
def exifs(draw) -> bytes:
    """EXIF, mostly as it should be, with an orientation of any type and entries around it."""
    order = draw(st.sampled_from("<>"))
    marks = [b"II*\0"] * 5 + [b"II\0*", b"II+\0", b"II\7\0"]
    mark = draw(st.sampled_from(marks))
    if order == ">":
        mark = mark[:2].replace(b"II", b"MM") + mark[:1:-1]
    entries = []
    # Pillow skips an entry whose tag was there before without a look at it; no file has such.
    for tag in draw(st.permutations([0x112, 0x100, 0x10F]))[: draw(st.integers(0, 3))]:
        kind = draw(st.sampled_from([3] * 8 + [0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 16, 99]))
        count = draw(st.sampled_from([1] * 6 + [0, 2, 3, 5]))
        value = draw(st.sampled_from([*range(10), 20, 26, 255, 65_535]))
        one = order + ("HH" if kind in (3, 8) else "L")
        words = [value, 0] if kind in (3, 8) else [value]
        entries.append((tag, kind, count, struct.pack(one, *words)))
    whole = tiff(order, mark, draw(st.sampled_from([8] * 6 + [0, 7, 10, 26])), entries)
    prefix = b"Exif\0\0" * draw(st.sampled_from([1, 1, 1, 2, 3]))
    return prefix + whole[: draw(st.sampled_from([len(whole)] * 4 + [len(whole) - 6, 7, 20]))]


@settings(max_examples=400, deadline=None)
@given(exifs(), st.integers(0, 9), st.booleans())
def test_exif_of_any_kind(exif, way, with_xmp):
    packet = [XMP + f'tiff:Orientation="{way}"'.encode()] if with_xmp else []
    data = encoded(exif, *packet)
    assert ours(data) == pillows(data)
