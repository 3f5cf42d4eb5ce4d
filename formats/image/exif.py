"""Tags of the first image directory in a TIFF structure, which is also what EXIF is made of."""

from __future__ import annotations

from typing import Literal

ORIENTATION = 0x0112
WIDTH = 0x0100
HEIGHT = 0x0101

_SIZES = {1: 1, 3: 2, 4: 4}


def first_directory(data: memoryview) -> dict[int, int]:
    """Integer tags of the first directory, by number; {} where there is none.

    Args:
        data: (n,) bytes from the TIFF header ("II" or "MM") on. Only the directory is read, and
            only values that stand in it: no offset is followed but the one to the directory.
    """
    mark = bytes(data[:4])
    order: Literal["little", "big"]
    if mark == b"II*\0":
        order = "little"
    elif mark == b"MM\0*":
        order = "big"
    else:
        return {}
    at = int.from_bytes(data[4:8], order)
    if at < 8 or at + 2 > len(data):
        return {}
    # Entries that the data does not reach are left out, so a hostile count costs nothing.
    count = min(int.from_bytes(data[at : at + 2], order), (len(data) - at - 2) // 12)
    tags: dict[int, int] = {}
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        size = _SIZES.get(int.from_bytes(data[entry + 2 : entry + 4], order))
        if size is None or int.from_bytes(data[entry + 4 : entry + 8], order) != 1:
            continue
        tag = int.from_bytes(data[entry : entry + 2], order)
        tags[tag] = int.from_bytes(data[entry + 8 : entry + 8 + size], order)
    return tags


def orientation(data: memoryview) -> int:
    """EXIF orientation, 1 to 8, of a TIFF structure; 1 where it has none or a wrong one.

    Args:
        data: (n,) bytes, with or without the prefix "Exif" and two NULs.
    """
    if bytes(data[:6]) == b"Exif\0\0":
        data = data[6:]
    value = first_directory(data).get(ORIENTATION, 1)
    return value if 1 <= value <= 8 else 1
