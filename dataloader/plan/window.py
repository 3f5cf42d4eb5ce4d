"""The window order: as good a shuffle as a bounded number of resident blocks allows.

Blocks are shuffled and laid end to end; that row of records is divided into L lanes of equal
length, and each lane into windows of W blocks. Inside a window records are shuffled. Position p is
taken from lane p % L at its step p // L, so L windows are resident at a time, and every batch mixes
records from all over the dataset.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ranks import Ranks
from forebay.dataloader.plan.affinity import sticky_blocks
from forebay.dataloader.plan.order import PURPOSE_ROWS, Int, Uses, shuffled_blocks
from forebay.kernels.blocks import address_of
from forebay.kernels.permute import EXACT, permutation, permute
from forebay.kernels.philox import derive_key
from forebay.kernels.window_rows import LARGE, MISSING, locate_rows, place_rows, shuffle_positions

WINDOW_BYTES = 64 * 10**6
LANES = 48
SPARE_TABLES = 16


@dataclass(frozen=True, slots=True)
class WindowShape:
    """How a dataset is cut: plan settings, recorded in the cursor.

    Args:
        lanes: L, the sub-streams that positions take turns over.
        blocks: W, the blocks of one lane that are shuffled together.
        sticky: whether each lane has the same blocks in every epoch.
    """

    lanes: int
    blocks: int
    sticky: bool = False


def window_shape(
    memory: Int, window_bytes: int = WINDOW_BYTES, sticky: bool = False
) -> WindowShape:
    """The shape for blocks of these sizes, a function of the manifest alone.

    A dataset that fits the window is one lane and one window: a full shuffle. Otherwise L is the
    largest divisor of 48 of which one block each fits the window, and W fills it. Sizes are those
    in memory, not at rest: what a window costs is what it holds.

    Args:
        memory: (blocks,) int64, bytes of each block once decompressed, all columns.
    """
    total, count = int(memory.sum()), len(memory)
    if total <= window_bytes or count <= 1:
        return WindowShape(1, max(1, count), sticky)
    mean = total / count
    divisors = (d for d in range(LANES, 0, -1) if LANES % d == 0)
    lanes = next(d for d in divisors if d * mean <= window_bytes or d == 1)
    return WindowShape(lanes, max(1, int(window_bytes / (lanes * mean))), sticky)


class Window:
    """The window order of one epoch. See the module's text."""

    def __init__(self, first_row: Int, seed: int, epoch: int, shape: WindowShape) -> None:
        self._shape = shape
        self._seed, self._epoch = seed, epoch
        total = int(first_row[-1])
        lanes = np.arange(shape.lanes, dtype=np.int64)
        sizes = (total - lanes + shape.lanes - 1) // shape.lanes
        self._lane_start = np.r_[0, np.cumsum(np.maximum(sizes, 0))].astype(np.int64)
        self._blocks, self._starts = (
            sticky_blocks(first_row, self._lane_start, seed, epoch)
            if shape.sticky
            else shuffled_blocks(first_row, seed, epoch)
        )
        self._windows = self._cut()
        # The place of the block that each window begins in, and the number of blocks.
        self._edges = np.r_[locate_rows(self._windows[:-1], self._starts)[0], len(self._blocks)]
        # Of each lane its present window's; places below EXACT fit 16 bits.
        self._tables: dict[int, NDArray[np.uint16]] = {}
        self._tables_at = np.full(len(self._windows) - 1, MISSING)
        self._lock = threading.Lock()

    def locate(self, positions: Int) -> tuple[Int, Int]:
        positions = np.ascontiguousarray(positions)
        out = np.empty((3, len(positions)), np.int64)
        with self._lock:
            window, row = self._shuffled(positions, out)
        block = out[2]
        place_rows(window, self._edges, self._starts, self._blocks, row, block)
        return block, row

    def uses(self, ranks: Ranks) -> Uses:
        windows, lanes = self._windows, self._shape.lanes
        lane, step = locate_rows(windows[:-1], self._lane_start)
        comes = step * lanes + lane
        # The last row of a window leaves at the last step that its lane spends in it.
        lane, step = locate_rows(windows[1:] - 1, self._lane_start)
        leaves = step * lanes + lane
        filled = np.flatnonzero(np.diff(self._starts) > 0)
        # A block is in one window, or in several where lanes meet in it.
        begin = np.searchsorted(windows, self._starts[filled], side="right") - 1
        end = np.searchsorted(windows, self._starts[filled + 1] - 1, side="right")
        # Position p is of lane p % lanes and of rank p % size: what divides both tells them apart.
        common = math.gcd(lanes, ranks.size)
        own = comes % common == ranks.rank % common
        single = np.flatnonzero((end - begin == 1) & own[begin])
        alone, at = self._blocks[filled[single]], begin[single]
        met = [
            (int(self._blocks[filled[i]]), int(comes[w]), int(leaves[w]))
            for i in np.flatnonzero(end - begin > 1).tolist()
            for w in range(int(begin[i]), int(end[i]))
            if own[w]
        ]
        several = _joined(met)
        return Uses(
            np.concatenate([alone, several.blocks]),
            np.concatenate([comes[at], several.first]),
            np.concatenate([leaves[at], several.last]),
            np.concatenate([np.zeros(len(at), bool), several.again]),
        )

    def _cut(self) -> Int:
        """(windows + 1,) first row of each window, lane after lane, and the total."""
        edges = []
        for lane in range(self._shape.lanes):
            start, stop = int(self._lane_start[lane]), int(self._lane_start[lane + 1])
            if start == stop:
                continue
            first = int(np.searchsorted(self._starts, start, side="right")) - 1
            inner = self._starts[first + self._shape.blocks :: self._shape.blocks]
            edges.append(np.r_[start, inner[(inner > start) & (inner < stop)]])
        edges.append(self._starts[-1:])
        # They ascend; empty blocks begin where others do.
        found = np.concatenate(edges)
        return found[np.r_[True, found[1:] != found[:-1]]]

    def _shuffled(self, positions: Int, out: Int) -> tuple[Int, Int]:
        """(window, row in the epoch's order) of each position, views of `out`."""
        order = (self._lane_start, self._windows, self._tables_at)
        bad, missing, large = shuffle_positions(positions, *order, out)
        if bad < 0 and missing:
            self._prepare(set(out[2, :missing].tolist()))
            bad, _, large = shuffle_positions(positions, *order, out)
            self._trim()
        if bad >= 0:
            raise IndexError(
                f"position {positions[bad]} does not exist: the epoch has {self._starts[-1]}"
            )
        window, row = out[0], out[1]
        if large:
            for one in [0] if len(self._tables_at) == 1 else np.unique(window).tolist():
                if self._tables_at[one] == LARGE:
                    self._permute(one, window, row)
        return window, row

    def _prepare(self, missing: set[int]) -> None:
        """Makes the tables of these windows."""
        for window in missing:
            size = int(self._windows[window + 1] - self._windows[window])
            if size > EXACT:
                self._tables_at[window] = LARGE
                continue
            table = permutation(size, self._key(window)).astype(np.uint16)
            self._tables[window] = table
            self._tables_at[window] = address_of(table)

    def _trim(self) -> None:
        """Lets go of the tables made longest ago, beyond those of present windows and a few."""
        spare = len(self._tables) - (self._shape.lanes + SPARE_TABLES)
        for window in list(self._tables)[: max(0, spare)]:
            self._tables_at[window] = MISSING
            del self._tables[window]

    def _permute(self, window: int, windows: Int, row: Int) -> None:
        chosen = slice(None) if len(self._windows) == 2 else np.flatnonzero(windows == window)
        first, stop = int(self._windows[window]), int(self._windows[window + 1])
        row[chosen] = first + permute(stop - first, self._key(window), row[chosen] - first)

    def _key(self, window: int) -> tuple[int, int]:
        return derive_key(self._seed, self._epoch, PURPOSE_ROWS, window)


def _joined(uses: list[tuple[int, int, int]]) -> Uses:
    """(block, first, last) of each use, of which those of one block that overlap are made one."""
    joined: list[tuple[int, int, int]] = []
    for block, first, last in sorted(uses):
        if joined and joined[-1][0] == block and first <= joined[-1][2]:
            joined[-1] = block, joined[-1][1], max(last, joined[-1][2])
        else:
            joined.append((block, first, last))
    found = np.array(joined, np.int64).reshape(-1, 3)
    blocks = found[:, 0]
    again = np.r_[blocks[1:] == blocks[:-1], np.zeros(min(1, len(blocks)), bool)]
    return Uses(blocks, found[:, 1], found[:, 2], again)
