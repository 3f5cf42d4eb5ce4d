"""Sticky placement: each lane keeps its blocks from epoch to epoch, so that caches stay warm."""

from __future__ import annotations

import numpy as np

from forebay.dataloader.plan.order import Int, shuffled_blocks
from forebay.kernels.permute import permute
from forebay.kernels.philox import derive_key

# The purpose that keys of a lane's order are derived for; a number for ever, see plan.order.
PURPOSE_LANE = 5


def sticky_blocks(first_row: Int, lane_start: Int, seed: int, epoch: int) -> tuple[Int, Int]:
    """As `plan.order.shuffled_blocks`, but each lane's blocks are the same in every epoch.

    Blocks are dealt to lanes as in epoch 0; then those that lie wholly in one lane take places anew
    among themselves. A block in which two lanes meet stays where it is, and so do the lanes' edges.

    Args:
        lane_start: (lanes + 1,) int64, the first row of each lane in the epoch's order of blocks,
            and the total.
    """
    blocks, starts = shuffled_blocks(first_row, seed, 0)
    rows = np.diff(starts)
    first = np.searchsorted(starts[:-1], lane_start[:-1], side="left")
    stop = np.searchsorted(starts, lane_start[1:], side="right") - 1
    # Blocks without rows that lie where lanes meet are the earlier one's.
    first = np.maximum(first, np.r_[0, stop[:-1]])
    for lane in np.flatnonzero(stop - first > 1).tolist():
        inner = slice(int(first[lane]), int(stop[lane]))
        count = inner.stop - inner.start
        key = derive_key(seed, epoch, PURPOSE_LANE, lane)
        order = permute(count, key, np.arange(count, dtype=np.int64))
        blocks[inner], rows[inner] = blocks[inner][order], rows[inner][order]
    return blocks, np.r_[0, np.cumsum(rows)].astype(np.int64)
