"""Orders: where each position of an epoch lies. Pure functions of seed, epoch and position.

Every order is computed where it is asked for; none is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ranks import Ranks
from forebay.kernels.permute import permute
from forebay.kernels.philox import derive_key
from forebay.kernels.window_rows import locate_rows

Int = NDArray[np.int64]
OrderName = Literal["sequential", "blocks", "window", "full", "weighted"]

# The purposes that keys of an epoch's order are derived for. Numbers are for ever.
PURPOSE_BLOCKS = 1
PURPOSE_ROWS = 2
PURPOSE_ALL = 3


@dataclass(frozen=True, slots=True, eq=False)
class Uses:
    """Intervals of positions in which blocks are needed; a block may have several, far apart.

    Args:
        blocks: (uses,) int64.
        first: (uses,) the first position that can need the block.
        last: (uses,) the last position that can need it, until its next use.
        again: (uses,) bool, whether it has a next use.
    """

    blocks: Int
    first: Int
    last: Int
    again: NDArray[np.bool_]


class Order(Protocol):
    """The order of one epoch over blocks of known sizes."""

    def locate(self, positions: Int) -> tuple[Int, Int]:
        """(block, row in the block) of each position; all (n,) int64."""
        ...

    def uses(self, ranks: Ranks) -> Uses | None:
        """When this rank needs each block; None where any position may need any block."""
        ...


class Sequential:
    """Records as they lie at rest."""

    def __init__(self, first_row: Int) -> None:
        self._first_row = first_row

    def locate(self, positions: Int) -> tuple[Int, Int]:
        return locate_rows(positions, self._first_row)

    def uses(self, ranks: Ranks) -> Uses:
        blocks = np.arange(len(self._first_row) - 1, dtype=np.int64)
        return _filled(blocks, self._first_row)


class Full:
    """Every order of all records is possible."""

    def __init__(self, first_row: Int, seed: int, epoch: int) -> None:
        self._first_row = first_row
        self._key = derive_key(seed, epoch, PURPOSE_ALL)

    def locate(self, positions: Int) -> tuple[Int, Int]:
        total = int(self._first_row[-1])
        return locate_rows(permute(total, self._key, positions), self._first_row)

    def uses(self, ranks: Ranks) -> None:
        return None


class Blocks:
    """Blocks in random order, records in each as they lie."""

    def __init__(self, first_row: Int, seed: int, epoch: int) -> None:
        self._blocks, self._starts = shuffled_blocks(first_row, seed, epoch)

    def locate(self, positions: Int) -> tuple[Int, Int]:
        place, row = locate_rows(positions, self._starts)
        return self._blocks[place], row

    def uses(self, ranks: Ranks) -> Uses:
        return _filled(self._blocks, self._starts)


def shuffled_blocks(first_row: Int, seed: int, epoch: int) -> tuple[Int, Int]:
    """(blocks in the epoch's order, first row of each in that order and the total)."""
    count = len(first_row) - 1
    key = derive_key(seed, epoch, PURPOSE_BLOCKS)
    blocks = permute(count, key, np.arange(count, dtype=np.int64))
    rows = np.diff(first_row)[blocks]
    return blocks, np.r_[0, np.cumsum(rows)].astype(np.int64)


def _filled(blocks: Int, starts: Int) -> Uses:
    filled = np.diff(starts) > 0
    again = np.zeros(int(np.count_nonzero(filled)), bool)
    return Uses(blocks[filled], starts[:-1][filled], starts[1:][filled] - 1, again)
