"""Where positions of an order lie, in loops over a batch: which window and where in it, then in
which block. What lanes, windows and rows are is told in `dataloader/plan/window.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int = NDArray[np.int64]

__all__ = ["LARGE", "MISSING", "locate_rows", "place_rows", "shuffle_positions"]

MISSING, LARGE = np.uint64(0), np.uint64(1)
"""No addresses: a window's shuffle is not made yet; it is too large for a table."""


def shuffle_positions(
    positions: Int, lane_start: Int, windows: Int, tables: NDArray[np.uint64], out: Int
) -> tuple[int, int, int]:
    """Writes the window of each position, and its row in the epoch's order, without the GIL.

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

    Raises:
        ValueError: sizes do not go together.
        TypeError: an array has another dtype, or is not contiguous.
    """
    return _native.shuffle_positions(positions, lane_start, windows, tables, out)


def place_rows(window: Int, edges: Int, starts: Int, blocks: Int, row: Int, block: Int) -> None:
    """Writes block and row in the block of each row of the epoch's order, without the GIL.

    Args:
        window: (n,) from `shuffle_positions`.
        edges: (windows + 1,) place in `starts` of the block that each window begins in, and the
            number of blocks.
        starts: (blocks + 1,) first row of each block in the epoch's order, and the total.
        blocks: (blocks,) block that lies there.
        row: (n,) from `shuffle_positions`; becomes the row in its block.
        block: (n,) written.

    Raises:
        IndexError: a window does not exist or has no block; names it. Rows from it on are left.
        ValueError, TypeError: as `shuffle_positions`.
    """
    bad = _native.place_rows(window, edges, starts, blocks, row, block)
    if bad >= 0:
        raise IndexError(
            f"place_rows: window {window[bad]} (number {bad} of {len(window)}) has no block: there "
            f"are {len(edges) - 1} windows of {len(blocks)} blocks"
        )


def locate_rows(rows: Int, starts: Int) -> tuple[Int, Int]:
    """(part, row in the part) of each row, without the GIL; quick where parts are nearly equal.

    Args:
        rows: (n,) int64, each in [0, total).
        starts: (parts + 1,) int64, the first row of each part from 0 on, and the total; ascending.
            Of parts that begin with the same row the last one has it: those before are empty.

    Returns:
        Two new (n,) int64 arrays, the caller's.

    Raises:
        IndexError: a row is in no part; names it.
        ValueError, TypeError: as `shuffle_positions`.
    """
    rows = np.ascontiguousarray(rows)
    out = np.empty((2, len(rows)), np.int64)
    place, offset = out[0], out[1]
    bad = _native.locate_rows(rows, starts, place, offset)
    if bad >= 0:
        raise IndexError(
            f"row {rows[bad]} (number {bad} of {len(rows)}) does not exist: there are {starts[-1]}"
        )
    return place, offset
