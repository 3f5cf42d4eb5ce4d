"""What an order gives and costs: how well it shuffles, and how often it reads each byte."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ranks import Ranks
from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.order import Int

BATCHES = 32
"""Batches of an epoch that are looked at, spread evenly over it."""
ROWS = 1 << 16
"""Samples that are looked at in all, at most; of a larger batch the first."""


def shuffle_quality(settings: PlanSettings, batch: int) -> float:
    """How much a batch is worth beside one of a full shuffle where shuffling matters most: from 0
    to 1.

    Records that lie together are often alike. Were all of a block the same, a batch that has m_b of
    its n samples from block b would tell as much as n^2 / sum(m_b^2) independent ones: the
    effective sample size of cluster sampling at an intra-cluster correlation of one (L. Kish,
    Survey Sampling, 1965). The quality is that of batches of this order, over that of batches drawn
    from all records.

    Args:
        batch: samples a batch, over all ranks.
    """
    total = settings.total
    n = min(batch, total, ROWS)
    if n < 2:
        return 1.0
    order = settings.order_of(settings.known_epoch)
    count = max(1, min(BATCHES, ROWS // n, total // n))
    squares = []
    for first in np.linspace(0, total - n, count).astype(np.int64).tolist():
        blocks, _ = order.locate(np.arange(first, first + n, dtype=np.int64))
        held = np.bincount(np.unique(blocks, return_inverse=True)[1])
        squares.append(int((held**2).sum()))
    return min(1.0, _drawn_squares(settings, n) / float(np.mean(squares)))


def _drawn_squares(settings: PlanSettings, n: int) -> float:
    """The expected sum of m_b^2 of n samples that are drawn from all records."""
    if settings.weights is not None or settings.mixture is not None:
        return n + n * (n - 1) * float((_shares(settings) ** 2).sum())
    rows = np.diff(settings.first_row).astype(np.float64)
    total = float(rows.sum())
    return n + n * (n - 1) * float((rows * (rows - 1)).sum()) / (total * (total - 1))


def _shares(settings: PlanSettings) -> NDArray[np.float64]:
    """(blocks,) how likely a sample is of each block where any position may need any."""
    summed: NDArray[np.float64] = settings.first_row.astype(np.float64)
    if settings.weights is not None:
        summed = np.r_[0.0, np.cumsum(settings.weights.of)][settings.first_row]
    shares: NDArray[np.float64] = np.diff(summed) / summed[-1]
    if (mixture := settings.mixture) is not None:
        for c, quota in zip(mixture.components, mixture.quota.tolist(), strict=True):
            own = slice(c.first_block, c.first_block + c.blocks)
            shares[own] *= quota / mixture.quota.sum() / shares[own].sum()
    return shares


def read_factor(
    settings: PlanSettings, memory: Int, batch: int, ranks: Ranks, room: int | None
) -> float:
    """How often an epoch reads each byte of the blocks, over all ranks; an estimate where any
    position may need any block.

    Args:
        memory: (blocks,) int64, bytes of each block in memory.
        batch: samples that travel together, over all ranks.
        room: bytes that blocks may take in a rank; None where all of them fit.
    """
    held = int(memory.sum())
    if settings.by_record or not held or not settings.total:
        return 1.0
    epoch = settings.known_epoch
    uses = settings.order_of(epoch).uses(ranks)
    if uses is None:
        return _full_factor(settings, memory, batch, ranks, room)
    # Ranks that share their lanes read the same; the others' lanes are as these.
    lanes = settings.shape.lanes if settings.order == "window" else 1
    kinds = math.gcd(lanes, ranks.size)
    read = 0
    for kind in range(kinds):
        uses = settings.order_of(epoch).uses(Ranks(kind, ranks.size))
        assert uses is not None, "an order knows its uses for every rank or for none"
        if room is not None:
            read += int(memory[uses.blocks].sum())
        else:
            met = np.zeros(len(memory), bool)
            met[uses.blocks] = True
            read += int(memory[met].sum())
    return read * (ranks.size // kinds) / held


def _full_factor(
    settings: PlanSettings, memory: Int, batch: int, ranks: Ranks, room: int | None
) -> float:
    """Each ticket meets its blocks anew but for those that are in memory by chance."""
    share = _shares(settings)
    own = max(1, -(-batch // ranks.size))
    met = 1 - (1 - share) ** own
    if room is None:
        # Each once, if it is met at all.
        met_ever = 1 - (1 - share) ** -(-settings.total // ranks.size)
        return float((met_ever * memory).sum()) * ranks.size / float(memory.sum())
    missing = max(0.0, 1 - room / float(memory.sum()))
    tickets = settings.total / batch
    return float((met * memory).sum()) * missing * tickets * ranks.size / float(memory.sum())
