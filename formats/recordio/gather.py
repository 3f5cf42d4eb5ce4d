"""Moving many small runs of bytes in few calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from forebay.kernels.align import aligned_empty
from forebay.kernels.runs import copy_runs, take_runs

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Bytes", "Offsets", "copy_runs", "starts_of", "strided", "take_fixed", "windows"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


def starts_of(lengths: Offsets) -> Offsets:
    """(n,) where each run begins when runs of these lengths lie one behind the other."""
    starts = np.zeros(len(lengths), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    return starts


def windows(data: Bytes, width: int) -> Bytes:
    """(n, width) view of `data` whose row i is the `width` bytes from byte i on.

    `width` is at least 1; where `data` is shorter, n is 0. Row i may be taken only for
    i + width <= len(data); the view writes through.
    """
    rows = max(0, len(data) - width + 1)
    return as_strided(data, (rows, width), (1, 1), writeable=data.flags.writeable)


def take_fixed(
    data: Bytes,
    starts: Offsets,
    width: int,
    dtype: np.dtype[Any],
    take: Callable[[int], Bytes] = aligned_empty,
) -> NDArray[Any]:
    """(n, width / itemsize) array in memory from `take`: the values that begin at each start."""
    values = take_runs(data, starts, width, take(len(starts) * width))
    return values.view(dtype).reshape(len(starts), width // dtype.itemsize)


def strided(data: Bytes, starts: Offsets, width: int, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """As `take_fixed`, but a view of `data`; None where values lie unevenly or off their alignment.

    It holds for records of one size, read in one piece.
    """
    if len(starts) < 2 or not width:
        return None
    first, step = int(starts[0]), int(starts[1]) - int(starts[0])
    if step < width or step % dtype.itemsize or (starts[1:] - starts[:-1] != step).any():
        return None
    if first < 0 or int(starts[-1]) + width > len(data):
        raise IndexError(f"values of {width} bytes from {first} on, in {len(data)} bytes")
    if (data.ctypes.data + first) % dtype.itemsize:
        return None
    shape = len(starts), width // dtype.itemsize
    # The view that np.ndarray makes has `data` for its base, and no object in between that hides
    # whose memory it is.
    return np.ndarray(shape, dtype, data, first, (step, dtype.itemsize))
