"""Encoding, size and orientation of an encoded image, from its header alone.

Nothing is decoded, and nothing is believed: every offset is checked, work is bounded by limits
below, and what can't be understood is None.
"""

from __future__ import annotations

from dataclasses import dataclass

from forebay.formats.image import exif, xmp

_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_PNG_XMP = b"XML:com.adobe.xmp\0"
# A JPEG of 65,535 x 65,535 with a maximal ICC profile and EXIF stays far below.
_MAX_SEGMENTS = 4096
_MAX_JUNK = 1 << 20
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What a header says.

    Args:
        encoding: "jpeg", "png", "webp", "gif", "bmp" or "tiff".
        height: in pixels as stored, before the orientation is applied; at least 1.
        width: likewise.
        orientation: 1 to 8, of EXIF, or else of XMP; 1 where none is given.
    """

    encoding: str
    height: int
    width: int
    orientation: int = 1


def probe(data: bytes | memoryview) -> ImageInfo | None:
    """What the header of an encoded image says, or None where the bytes are no image known here.

    Never raises: any bytes are allowed, whole, damaged or hostile.

    Args:
        data: (n,) bytes, contiguous; not kept.
    """
    view = memoryview(data).cast("B")
    info: ImageInfo | None = None
    head = bytes(view[:12])
    if head[:3] == b"\xff\xd8\xff":
        info = _jpeg(view)
    elif head[:8] == b"\x89PNG\r\n\x1a\n":
        info = _png(view)
    elif head[:4] == b"RIFF" and head[8:] == b"WEBP":
        info = _webp(view)
    elif head[:6] in (b"GIF87a", b"GIF89a"):
        info = ImageInfo("gif", _little(view, 8, 2), _little(view, 6, 2))
    elif head[:2] == b"BM":
        info = _bmp(view)
    elif head[:4] in (b"II*\0", b"MM\0*"):
        info = _tiff(view)
    return info if info is not None and info.height > 0 and info.width > 0 else None


def _little(view: memoryview, at: int, size: int) -> int:
    """Unsigned integer, or 0 where the bytes end before it does."""
    part = view[at : at + size]
    return int.from_bytes(part, "little") if len(part) == size else 0


def _big(view: memoryview, at: int, size: int) -> int:
    part = view[at : at + size]
    return int.from_bytes(part, "big") if len(part) == size else 0


def _jpeg(view: memoryview) -> ImageInfo | None:
    """Walks markers up to the first scan, where decoders too stop looking for EXIF."""
    height = width = 0
    turned: memoryview | None = None
    packet: memoryview | None = None
    at, junk = 2, 0
    for _ in range(_MAX_SEGMENTS):
        start = at
        at = _next_marker(view, at, _MAX_JUNK - junk)
        if at < 0:
            break
        junk += at - start
        marker = view[at + 1]
        at += 2
        if marker in _STANDALONE:
            continue
        if marker in (0xD9, 0xDA):
            break
        length = _big(view, at, 2)
        if length < 2 or at + length > len(view):
            break
        body = view[at + 2 : at + length]
        if marker in _SIZES and not height:
            height, width = _big(body, 1, 2), _big(body, 3, 2)
        elif marker == 0xE1 and turned is None and bytes(body[:6]) == b"Exif\0\0":
            turned = body
        elif marker == 0xE1 and bytes(body[: len(_XMP)]) == _XMP:
            packet = body[len(_XMP) :]
        at += length
    return ImageInfo("jpeg", height, width, _upright(turned, packet)) if height else None


def _upright(turned: memoryview | None, packet: memoryview | None) -> int:
    """Orientation by EXIF, or where that says nothing by XMP: Pillow's order."""
    stated = exif.orientation(turned) if turned is not None else None
    if stated is not None:
        return stated
    return xmp.orientation(packet) if packet is not None else 1


def _next_marker(view: memoryview, at: int, limit: int) -> int:
    """Position of the 0xFF right before the next marker's code, or -1.

    Fill bytes (0xFF), stuffed zeros and junk before it are passed over, up to `limit` bytes.
    """
    window = bytes(view[at : at + max(limit, 0) + 2])
    found = 0
    while (found := window.find(b"\xff", found)) >= 0 and found + 1 < len(window):
        if window[found + 1] not in (0x00, 0xFF):
            return at + found
        found += 1
    return -1


def _png(view: memoryview) -> ImageInfo | None:
    if bytes(view[12:16]) != b"IHDR" or _big(view, 8, 4) != 13:
        return None
    height, width = _big(view, 20, 4), _big(view, 16, 4)
    turned: memoryview | None = None
    packet: memoryview | None = None
    at = 33
    for _ in range(_MAX_SEGMENTS):
        length, kind = _big(view, at, 4), bytes(view[at + 4 : at + 8])
        if len(kind) < 4 or kind == b"IEND":
            break
        body = view[at + 8 : at + 8 + length]
        if kind == b"eXIf":
            turned = body
        elif kind == b"iTXt" and bytes(body[: len(_PNG_XMP)]) == _PNG_XMP:
            packet = body  # as text: in a compressed one nothing is found
        at += 12 + length
    return ImageInfo("png", height, width, _upright(turned, packet))


def _webp(view: memoryview) -> ImageInfo | None:
    kind = bytes(view[12:16])
    if kind == b"VP8 " and bytes(view[23:26]) == b"\x9d\x01\x2a":
        return ImageInfo("webp", _little(view, 28, 2) & 0x3FFF, _little(view, 26, 2) & 0x3FFF)
    if kind == b"VP8L" and len(view) >= 25 and view[20] == 0x2F:
        bits = _little(view, 21, 4)
        return ImageInfo("webp", (bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1)
    if kind == b"VP8X" and len(view) >= 30:
        turned = _webp_orientation(view)
        return ImageInfo("webp", _little(view, 27, 3) + 1, _little(view, 24, 3) + 1, turned)
    return None


def _webp_orientation(view: memoryview) -> int:
    """Chunks count where the header announces them, as in libwebp."""
    announced = {b"EXIF": 0x08, b"XMP ": 0x04}
    found: dict[bytes, memoryview] = {}
    at = 12
    for _ in range(_MAX_SEGMENTS):
        kind, length = bytes(view[at : at + 4]), _little(view, at + 4, 4)
        if len(kind) < 4:
            break
        if view[20] & announced.get(kind, 0):
            found.setdefault(kind, view[at + 8 : at + 8 + length])
        at += 8 + length + (length & 1)
    return _upright(found.get(b"EXIF"), found.get(b"XMP "))


def _bmp(view: memoryview) -> ImageInfo | None:
    header = _little(view, 14, 4)
    if header == 12:
        return ImageInfo("bmp", _little(view, 20, 2), _little(view, 18, 2))
    if header < 16 or len(view) < 26:
        return None
    width = int.from_bytes(view[18:22], "little", signed=True)
    height = int.from_bytes(view[22:26], "little", signed=True)
    # A negative height says that rows run from the top.
    return ImageInfo("bmp", abs(height), width)


def _tiff(view: memoryview) -> ImageInfo | None:
    tags = exif.first_directory(view)
    turned = tags.get(exif.ORIENTATION, 1)
    height, width = tags.get(exif.HEIGHT, 0), tags.get(exif.WIDTH, 0)
    return ImageInfo("tiff", height, width, turned if 1 <= turned <= 8 else 1)
