"""In which order records are packed, and where shards end."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

# Keeps this shuffle apart from those of an epoch under the same seed.
_PURPOSE = 0x7061636B
_AT_ONCE = 1 << 20


def order_of(n: int, seed: int | None, index: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """(K,) int64: which record comes at each of the positions `index`, of all `n` when None.

    A pure function of its arguments, the same in every process and for ever.
    """
    positions = np.arange(n, dtype=np.int64) if index is None else index
    if seed is None:
        return positions
    from forebay.kernels.permute import permute
    from forebay.kernels.philox import derive_key

    return permute(n, derive_key(_PURPOSE, seed), positions)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a source's records, kept in a file, so that each job reads its part alone.

    `path` is None for the source's own order.
    """

    path: Path | None = None

    def rows(self, start: int, stop: int) -> NDArray[np.int64]:
        """(stop - start,) which record comes at each position from `start` on."""
        if self.path is None:
            return np.arange(start, stop, dtype=np.int64)
        return np.fromfile(self.path, np.int64, stop - start, offset=8 * start)


def stored_order(n: int, seed: int | None, folder: Path) -> Order:
    """The order of `n` records, written to `folder` if they are shuffled."""
    if seed is None:
        return Order()
    path = folder / "order.bin"
    with open(path, "wb") as file:
        for at in range(0, n, _AT_ONCE):
            order_of(n, seed, np.arange(at, min(at + _AT_ONCE, n), dtype=np.int64)).tofile(file)
    return Order(path)


def cuts_by_size(sizes: NDArray[np.int64], shard_bytes: int) -> list[tuple[int, int]]:
    """Runs (start, stop) of neighbours of at most `shard_bytes` each; a larger one stands alone."""
    stops = np.cumsum(sizes, dtype=np.int64)
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(sizes):
        done = int(stops[start - 1]) if start else 0
        stop = int(np.searchsorted(stops, done + shard_bytes, side="right"))
        runs.append((start, max(stop, start + 1)))
        start = runs[-1][1]
    return runs


def even_cuts(records: int, nbytes: int, shard_bytes: int) -> list[tuple[int, int]]:
    """Runs (start, stop) of about the same number of records, of about `shard_bytes` or less."""
    shards = min(records, max(1, -(-nbytes // shard_bytes)))
    bounds = [records * i // shards for i in range(shards + 1)] if shards else []
    return list(pairwise(bounds))
