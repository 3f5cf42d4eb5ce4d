"""Where positions of a window order lie, in two loops over a batch: which window and where
in it, then in which block. What lanes, windows and rows are is told in `dataloader/plan/window.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import types

from forebay.kernels.address import typed_at
from forebay.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int = NDArray[np.int64]

__all__ = ["LARGE", "MISSING", "place_rows", "shuffle_positions"]

_INDEX = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.int64[::1]
_TABLES = types.Array(types.uint64, 1, "C", readonly=True)
_U16 = np.empty(0, np.uint16)
_THREE = types.UniTuple(types.int64, 3)  # type: ignore[no-untyped-call]
MISSING, LARGE = np.uint64(0), np.uint64(1)
"""No addresses: a window's shuffle is not made yet; it is too large for a table."""


@compiled()
def _last_at_most(sorted_rows: Int, first: int, stop: int, row: int) -> int:
    # The last of places [first, stop) whose value is at most `row`, as the first one's is.
    while stop - first > 1:
        middle = (first + stop) >> 1
        if sorted_rows[middle] <= row:
            first = middle
        else:
            stop = middle
    return first


@compiled(_THREE(_INDEX, _INDEX, _INDEX, _TABLES, types.int64[:, ::1]))
def shuffle_positions(
    positions: Int, lane_start: Int, windows: Int, tables: NDArray[np.uint64], out: Int
) -> tuple[int, int, int]:
    """Writes the window of each position, and its row in the epoch's order.

    Args:
        positions: (n,) int64.
        lane_start: (lanes + 1,) first row of each lane, and the total.
        windows: (windows + 1,) first row of each window, and the total; ascending.
        tables: (windows,) address of each window's shuffle, uint16, one a row of it; `MISSING`
            where there is none, and `LARGE` where the caller shuffles rows himself.
        out: (3, n) written: window; row; windows whose table is missing, some more than once.

    Returns:
        (number of the first position that does not exist or -1, missing windows written, positions
        in large windows). Rows of missing and large windows are those before the shuffle.
    """
    lanes = np.uint64(lane_start.size - 1)
    present = np.full(lane_start.size - 1, -1, np.int64)
    missing = large = 0
    for i in range(positions.size):
        if positions[i] < 0 or positions[i] >= lane_start[-1]:
            return i, missing, large
        position = np.uint64(positions[i])
        step = position // lanes
        lane = np.int64(position - step * lanes)
        row = lane_start[lane] + np.int64(step)
        window = present[lane]
        if window < 0 or row < windows[window] or row >= windows[window + 1]:
            window = _last_at_most(windows, 0, windows.size - 1, row)
            present[lane] = window
            if tables[window] == MISSING:
                out[2, missing] = window
                missing += 1
        first, address = windows[window], tables[window]
        out[0, i] = window
        if address > LARGE:
            row = first + np.int64(typed_at(address, _U16)[row - first])
        elif address == LARGE:
            large += 1
        out[1, i] = row
    return -1, missing, large


@compiled(types.void(_INDEX, _INDEX, _INDEX, _INDEX, _OUT, _OUT))
def place_rows(window: Int, edges: Int, starts: Int, blocks: Int, row: Int, block: Int) -> None:
    """Writes block and row in the block of each row of the epoch's order.

    Args:
        window: (n,) from `shuffle_positions`.
        edges: (windows + 1,) place in `starts` of the block that each window begins in, and the
            number of blocks.
        starts: (blocks + 1,) first row of each block in the epoch's order, and the total.
        blocks: (blocks,) block that lies there.
        row: (n,) from `shuffle_positions`; becomes the row in its block.
        block: (n,) written.
    """
    for i in range(window.size):
        first = edges[window[i]]
        stop = min(edges[window[i] + 1] + 1, starts.size - 1)
        place = _last_at_most(starts, first, stop, row[i])
        block[i] = blocks[place]
        row[i] -= starts[place]
