"""Small JPEGs out of seekable ones: only the restart segments that a window touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Buffer

__all__ = ["row_starts", "slice_of"]


def slice_of(
    data: Buffer, window: tuple[int, int, int, int], *, denominator: int = 1
) -> tuple[bytes, tuple[int, int]]:
    """An ordinary JPEG in which the pixels of a window decode as they do in the whole image.

    It holds whole restart intervals, so it is larger than the window. Metadata (EXIF with its
    orientation, ICC, comments) is left out.

    Args:
        data: A seekable JPEG: one baseline scan whose restart interval divides the MCUs of a row.
        window: (top, left, height, width) in pixels of the image as stored.
        denominator: 2, 4 or 8 where the slice will be decoded at that part of its size.

    Returns:
        The JPEG, and (top, left) of the window in its pixels.

    Raises:
        ValueError: `data` is no seekable JPEG, or is damaged, or the window is not inside it.
    """
    top, left, height, width = window
    if min(window) < 0 or max(window) > 0xFFFF:
        raise ValueError(f"window must be (top, left, height, width) in pixels, got {window}")
    if denominator not in (1, 2, 4, 8):
        raise ValueError(f"denominator must be 1, 2, 4 or 8, got {denominator}")
    jpeg, down, right = _native.jpeg_slice(data, top, left, height, width, denominator)
    return jpeg, (down, right)


def row_starts(data: Buffer) -> NDArray[np.uint32]:
    """Where each row of MCUs of a seekable JPEG begins.

    Kept in an index, it saves decoders of small windows of large images the search.

    Returns:
        (rows,) uint32: offsets in bytes of the rows' first restart segments.

    Raises:
        ValueError: `data` is no seekable JPEG, or is damaged.
    """
    return np.frombuffer(_native.jpeg_row_starts(data), np.uint32)
