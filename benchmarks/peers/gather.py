"""Floors for small records: a batch out of one array in memory, by NumPy and by numba.

They read no file, check nothing and keep no order that could be resumed: what they reach is what
the processor can do, not what a loader can promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .corpus.arrays import Rows

Padded = tuple["NDArray[np.int32]", "NDArray[np.int64]"]
"""(N, longest) int32 with zeros behind each row, and (N,) int64 lengths."""


def with_numpy(rows: Rows, index: NDArray[np.int64]) -> Padded:
    """Rows `index` by one indexed read with a mask."""
    starts = rows.starts[index]
    lengths = rows.starts[index + 1] - starts
    inside = np.arange(int(lengths.max())) < lengths[:, None]
    out = np.zeros(inside.shape, np.int32)
    at = (starts[:, None] + np.arange(inside.shape[1]))[inside]
    out[inside] = rows.values[at]
    return out, lengths


@cache
def _kernel() -> Callable[..., None]:
    import numba

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def fill(values: Any, starts: Any, lengths: Any, out: Any) -> None:
        # Plain loops: slices cost more than the few values that they move.
        for i in range(len(starts)):
            start, length = starts[i], lengths[i]
            for j in range(length):
                out[i, j] = values[start + j]
            for j in range(length, out.shape[1]):
                out[i, j] = 0

    kernel: Callable[..., None] = fill
    return kernel


def with_numba(rows: Rows, index: NDArray[np.int64]) -> Padded:
    """Rows `index` by one compiled loop."""
    starts = rows.starts[index]
    lengths = rows.starts[index + 1] - starts
    out = np.empty((len(index), int(lengths.max())), np.int32)
    _kernel()(np.asarray(rows.values), starts, lengths, out)
    return out, lengths


def pad(rows: Sequence[NDArray[np.int32]]) -> Padded:
    """Single rows, as a user's collate function gets them."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    out = np.zeros((len(rows), int(lengths.max())), np.int32)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out, lengths


def tensors(batch: Padded) -> list[Any]:
    """The arrays as tensors that share their memory."""
    import torch

    return [torch.from_numpy(array) for array in batch]


def pad_tensors(rows: Sequence[Any]) -> list[Any]:
    """A collate function of torch's kind over arrays or tensors."""
    return tensors(pad([np.asarray(row) for row in rows]))


def batches(count: int, size: int, epoch: int) -> Iterator[NDArray[np.int64]]:
    """Shuffled indices of an epoch in whole batches."""
    order = np.random.default_rng(epoch).permutation(count)
    for at in range(0, count - size + 1, size):
        yield order[at : at + size]


def resident(folder: Any) -> Rows:
    """Rows with their values in memory rather than mapped, page-aligned like forebay's own."""
    from .corpus.arrays import Rows

    rows = Rows(folder)
    from mmap import mmap

    memory = np.frombuffer(mmap(-1, rows.values.nbytes), np.int32)
    np.copyto(memory, rows.values)
    rows.values = memory
    return rows
