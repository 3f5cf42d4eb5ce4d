"""Tags of the first directory in a TIFF structure (TIFF 6.0, section 2), which EXIF is too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

ORIENTATION = 0x0112
WIDTH = 0x0100
HEIGHT = 0x0101

_Order = Literal["little", "big"]
# Pillow takes the two bytes after the first in either order, and BigTIFF's mark where it is big
# endian for TIFF's; little-endian BigTIFF it finds too short to be EXIF.
_MARKS: dict[bytes, _Order] = {
    b"II*\0": "little",
    b"II\0*": "little",
    b"MM\0*": "big",
    b"MM*\0": "big",
    b"MM\0+": "big",
}
_PREFIX = b"Exif\0\0"
# Bytes of a value by its type, of the types that Pillow knows.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}
_UNSIGNED = frozenset({3, 4, 13, 16})
_INTEGERS = _UNSIGNED | {6, 8, 9}


class _Entry(NamedTuple):
    tag: int
    kind: int
    values: int
    body: memoryview
    """The last four bytes: the values, or where they do not fit their offset."""

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return _SIZES[self.kind] * self.values

    def first(self, values: memoryview, order: _Order) -> int:
        """The first of its values; 0 where they are no integers."""
        if self.kind not in _INTEGERS:
            return 0
        first = values[: _SIZES[self.kind]]
        return int.from_bytes(first, order, signed=self.kind not in _UNSIGNED)


def first_directory(data: memoryview) -> dict[int, int]:
    """Integer tags of the first directory, by number; {} where there is none.

    Args:
        data: (n,) bytes from the TIFF header ("II" or "MM") on. Only the directory is read, and
            only values that stand in it: no offset is followed but the one to the directory.
    """
    order = _MARKS.get(bytes(data[:4]))
    if order is None:
        return {}
    return {
        e.tag: e.first(e.body, order)
        for e in _entries(data, order)
        if e.kind in _INTEGERS and e.values == 1 and e.size <= 4
    }


def _entries(data: memoryview, order: _Order) -> Iterator[_Entry]:
    """Entries that hold values of known types.

    Those that the data does not reach are left out, so that a hostile count costs nothing.
    """
    at = int.from_bytes(data[4:8], order)
    if len(data) < 8 or at + 2 > len(data):
        return
    count = min(int.from_bytes(data[at : at + 2], order), (len(data) - at - 2) // 12)
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        kind = int.from_bytes(data[entry + 2 : entry + 4], order)
        values = int.from_bytes(data[entry + 4 : entry + 8], order)
        if kind in _SIZES and values:
            tag = int.from_bytes(data[entry : entry + 2], order)
            yield _Entry(tag, kind, values, data[entry + 8 : entry + 12])


def orientation(data: memoryview) -> int | None:
    """EXIF orientation, 1 to 8, by Pillow's rules; None where nothing is said of it.

    1 is also the answer to what is no EXIF, or says a wrong orientation: XMP is not asked then.

    Args:
        data: (n,) bytes of a TIFF structure, with or without the prefix "Exif" and two NULs, which
            some writers say twice.
    """
    for _ in range(2):
        data = data[len(_PREFIX) :] if data[: len(_PREFIX)] == _PREFIX else data
    if not len(data):
        return None
    order = _MARKS.get(bytes(data[:4]))
    if order is None or len(data) < 8:
        return 1
    value = _stated(data, order)
    return value if value is None or 1 <= value <= 8 else 1


def _stated(data: memoryview, order: _Order) -> int | None:
    """The first entry that Pillow gets to: at values that lie beyond the end it gives up."""
    outside = 0
    for entry in _entries(data, order):
        values = entry.body
        if entry.size > 4:
            outside += entry.size
            if outside > len(data):
                continue
            at = int.from_bytes(entry.body, order)
            values = data[at : at + entry.size]
            if len(values) < entry.size:
                return None
        if entry.tag == ORIENTATION:
            return entry.first(values, order)
    return None
