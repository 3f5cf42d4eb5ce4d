"""Moving many small runs of bytes in few calls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

_LONG_RUN = 256
_INDEX_CHUNK = 1 << 16


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


def take_fixed(data: Bytes, starts: Offsets, width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """(n, width / itemsize) array of its own: the values that begin at each of `starts`."""
    if not len(starts) or not width:
        return np.empty((len(starts), width // dtype.itemsize), dtype)
    return np.ascontiguousarray(windows(data, width)[starts]).view(dtype)


def copy_runs(
    source: Bytes, source_starts: Offsets, out: Bytes, out_starts: Offsets, lengths: Offsets
) -> None:
    """Copies run i, `lengths[i]` bytes, from its start in `source` to its start in `out`."""
    total = int(lengths.sum())
    if total >= _LONG_RUN * len(lengths):
        runs = zip(source_starts.tolist(), out_starts.tolist(), lengths.tolist(), strict=True)
        for a, b, n in runs:
            out[b : b + n] = source[a : a + n]
        return
    # Short runs cost more to slice than to index; chunks bound the index's own memory.
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        done = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, done + _INDEX_CHUNK, "right")))
        part = slice(first, stop)
        n = lengths[part]
        inside = np.arange(int(n.sum())) - np.repeat(starts_of(n), n)
        out[np.repeat(out_starts[part], n) + inside] = source[
            np.repeat(source_starts[part], n) + inside
        ]
        first = stop
