"""Which records may stand in for one that cannot be delivered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forebay.dataloader.plan.epoch import PlanSettings
from forebay.kernels.permute import permute
from forebay.kernels.philox import derive_key

# The purpose that keys of substitutes are derived for; a number for ever, see plan.order.
PURPOSE_SUBSTITUTES = 9

BLOCKS, ROWS = 8, 64
"""Blocks that are looked at, and rows of each."""


class Substitutes:
    """The candidates for a position, a function of (seed, epoch, position) and its block alone: the
    rows of its own block in keyed order, then those of the blocks behind it, round the end of its
    dataset."""

    def __init__(self, settings: PlanSettings) -> None:
        self._first_row = settings.first_row
        self._kept = settings.kept
        parts = settings.mixture.components if settings.mixture is not None else ()
        self._bounds = [(c.first_block, c.first_block + c.blocks) for c in parts] or [
            (0, len(settings.first_row) - 1)
        ]
        self._seed = settings.seed

    def blocks(self, block: int) -> Iterator[int]:
        """The blocks to look in, that of the record itself first."""
        first, stop = next((a, b) for a, b in self._bounds if block < b)
        count = stop - first
        for i in range(min(BLOCKS, count)):
            yield first + (block - first + i) % count

    def rows(self, epoch: int, position: int, block: int) -> list[int]:
        """The rows of a block to try, in order."""
        count = int(self._first_row[block + 1] - self._first_row[block])
        key = derive_key(self._seed, epoch, PURPOSE_SUBSTITUTES, position)
        rows = permute(count, key, np.arange(min(count, ROWS), dtype=np.int64))
        if self._kept is not None:
            rows = self._kept[self._first_row[block] + rows].astype(np.int64)
        found: list[int] = rows.tolist()
        return found
