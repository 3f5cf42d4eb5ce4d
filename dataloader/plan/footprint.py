"""How many bytes of blocks an epoch's order needs resident at once."""

from __future__ import annotations

import numpy as np

from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.order import Int


def resident_bytes(settings: PlanSettings, memory: Int, epoch: int) -> int:
    """The most bytes of blocks that the epoch needs resident at one position.

    Exact for orders that know each block's last position; for the full order the blocks of one
    batch may all differ and none need stay, so the largest block stands for it.

    Args:
        memory: (blocks,) int64, bytes of each block in memory.
    """
    if not len(memory) or settings.total == 0:
        return 0
    uses = settings.order_of(epoch).uses()
    if uses is None:
        return int(memory.max())
    size = memory[uses.blocks]
    positions = np.r_[uses.first, uses.last + 1]
    change = np.r_[size, -size]
    # At one position a block leaves before the next one comes, so departures sort first.
    order = np.lexsort((change, positions))
    return int(np.cumsum(change[order]).max())
