"""How many bytes of blocks an epoch's order needs resident at once."""

from __future__ import annotations

import numpy as np

from forebay.dataloader.flow.ranks import ALONE, Ranks
from forebay.dataloader.flow.ticket import SLICE_ROWS
from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.order import Int


def resident_bytes(
    settings: PlanSettings, memory: Int, epoch: int, batch: int, ranks: Ranks = ALONE
) -> int:
    """The most bytes of blocks that a rank needs resident for one batch of the epoch.

    That are the blocks of the batch, and those that it shares with later ones. In the full order
    none need stay, so the largest blocks that one slice can touch stand for it.

    Args:
        memory: (blocks,) int64, bytes of each block in memory.
        batch: samples a batch, over all ranks.
    """
    if not len(memory) or settings.total == 0:
        return 0
    uses = settings.order_of(epoch).uses(ranks)
    if uses is None:
        touched = min(-(-batch // ranks.size), SLICE_ROWS.stop - 1, len(memory))
        return int(np.sort(memory)[-touched:].sum())
    size = memory[uses.blocks]
    comes, goes = uses.first // batch, uses.last // batch + 1
    coming, going = np.argsort(comes, kind="stable"), np.argsort(goes, kind="stable")
    # A block that leaves with a step is gone before the next one's come.
    gone = np.searchsorted(goes[going], comes[coming], side="right")
    left = np.r_[0, np.cumsum(size[going])][gone]
    return int((np.cumsum(size[coming]) - left).max())
