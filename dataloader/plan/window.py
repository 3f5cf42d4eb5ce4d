"""The window order: as good a shuffle as a bounded number of resident blocks allows.

Blocks are shuffled and laid end to end; that row of records is divided into L lanes of equal
length, and each lane into windows of W blocks. Inside a window records are shuffled. Position p is
taken from lane p % L at its step p // L, so L windows are resident at a time, and every batch mixes
records from all over the dataset.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.plan.order import PURPOSE_ROWS, Int, Uses, shuffled_blocks, within
from forebay.kernels.permute import EXACT, permutation, permute
from forebay.kernels.philox import derive_key

WINDOW_BYTES = 64 * 10**6
LANES = 48
SPARE_TABLES = 8


@dataclass(frozen=True, slots=True)
class WindowShape:
    """How a dataset is cut: plan settings, recorded in the cursor.

    Args:
        lanes: L, the sub-streams that positions take turns over.
        blocks: W, the blocks of one lane that are shuffled together.
    """

    lanes: int
    blocks: int


def window_shape(memory: Int, window_bytes: int = WINDOW_BYTES) -> WindowShape:
    """The shape for blocks of these sizes, a function of the manifest alone.

    A dataset that fits the window is one lane and one window: a full shuffle. Otherwise L is the
    largest divisor of 48 of which one block each fits the window, and W fills it. Sizes are those
    in memory, not at rest: what a window costs is what it holds.

    Args:
        memory: (blocks,) int64, bytes of each block once decompressed, all columns.
    """
    total, count = int(memory.sum()), len(memory)
    if total <= window_bytes or count <= 1:
        return WindowShape(1, max(1, count))
    mean = total / count
    divisors = (d for d in range(LANES, 0, -1) if LANES % d == 0)
    lanes = next(d for d in divisors if d * mean <= window_bytes or d == 1)
    return WindowShape(lanes, max(1, int(window_bytes / (lanes * mean))))


class Window:
    """The window order of one epoch. See the module's text."""

    def __init__(self, first_row: Int, seed: int, epoch: int, shape: WindowShape) -> None:
        self._blocks, self._starts = shuffled_blocks(first_row, seed, epoch)
        self._shape = shape
        self._seed, self._epoch = seed, epoch
        total = int(self._starts[-1])
        lanes = np.arange(shape.lanes, dtype=np.int64)
        sizes = (total - lanes + shape.lanes - 1) // shape.lanes
        self._lane_start = np.r_[0, np.cumsum(np.maximum(sizes, 0))].astype(np.int64)
        self._windows = self._cut()
        # Of each lane its present window's; places below EXACT fit 16 bits.
        self._tables: OrderedDict[int, NDArray[np.uint16]] = OrderedDict()

    def locate(self, positions: Int) -> tuple[Int, Int]:
        lane, step = positions % self._shape.lanes, positions // self._shape.lanes
        row = self._lane_start[lane] + step
        window, offset = within(self._windows, row)
        shuffled = np.empty_like(offset)
        order = np.argsort(window, kind="stable")
        edges = np.flatnonzero(np.diff(window[order], prepend=-1, append=-1))
        for first, stop in pairwise(edges.tolist()):
            chosen = order[first:stop]
            shuffled[chosen] = self._shuffle(int(window[chosen[0]]), offset[chosen])
        place, block_row = within(self._starts, self._windows[window] + shuffled)
        return self._blocks[place], block_row

    def uses(self) -> Uses:
        windows, lanes = self._windows, self._shape.lanes
        lane, step = within(self._lane_start, windows[:-1])
        comes = step * lanes + lane
        # The last row of a window leaves at the last step that its lane spends in it.
        lane, step = within(self._lane_start, windows[1:] - 1)
        leaves = step * lanes + lane
        filled = np.flatnonzero(np.diff(self._starts) > 0)
        # A block is in one window, or in several where lanes meet in it.
        begin = np.searchsorted(windows, self._starts[filled], side="right") - 1
        end = np.searchsorted(windows, self._starts[filled + 1] - 1, side="right")
        block = np.repeat(self._blocks[filled], end - begin)
        skipped = np.cumsum(end - begin) - (end - begin)
        window = np.arange(len(block)) - np.repeat(skipped - begin, end - begin)
        return _joined(block, comes[window], leaves[window])

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
        return np.unique(np.concatenate(edges))

    def _shuffle(self, window: int, offset: Int) -> Int:
        size = int(self._windows[window + 1] - self._windows[window])
        key = derive_key(self._seed, self._epoch, PURPOSE_ROWS, window)
        if size > EXACT:
            return permute(size, key, offset)
        table = self._tables.get(window)
        if table is None:
            table = self._tables[window] = permutation(size, key).astype(np.uint16)
            while len(self._tables) > self._shape.lanes + SPARE_TABLES:
                self._tables.popitem(last=False)
        else:
            self._tables.move_to_end(window)
        return table[offset].astype(np.int64)


def _joined(block: Int, first: Int, last: Int) -> Uses:
    """Uses of which those of one block that overlap are made one."""
    order = np.lexsort((first, block))
    block, first, last = block[order], first[order], last[order]
    new = np.ones(len(block), bool)
    reach = -1
    # Blocks with several uses are few: those in which two lanes meet.
    for i in np.flatnonzero(np.r_[False, block[1:] == block[:-1]]):
        reach = max(last[i - 1], reach if not new[i - 1] else -1)
        new[i] = first[i] > reach
    starts = np.flatnonzero(new)
    if not len(starts):
        return Uses(block, first, last)
    return Uses(block[starts], first[starts], np.maximum.reduceat(last, starts))
