"""How a mixture's samples are dealt to its components, in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.plan.order import Int

CYCLE = 1 << 12
"""Samples of a group at most; shares are whole numbers of it."""
EXACT = 1e-9


def quotas(weights: Sequence[float]) -> Int:
    """(components,) int64: samples of each in a cycle, the shortest cycle that has the shares.

    Where none of up to `CYCLE` samples has them exactly, the one that comes closest: a share is
    wrong by less than 1 / CYCLE. Every component has one sample at least: where shares are below
    that, the others give theirs.

    Args:
        weights: above 0; as many as components, at most CYCLE.
    """
    share = np.array(weights, np.float64)
    share /= share.sum()
    best: tuple[float, Int] | None = None
    for cycle in range(len(share), CYCLE + 1):
        found = dealt(share, cycle)
        error = float(np.abs(found / cycle - share).max())
        if found.min() > 0 and (best is None or error < best[0] - EXACT):
            best = error, found
            if error < EXACT:
                break
    return best[1] if best is not None else _at_least_one(share)


def _at_least_one(share: NDArray[Any]) -> Int:
    """A cycle of CYCLE samples: one for what has less by its share, the rest by shares."""
    found, few = np.ones(len(share), np.int64), np.zeros(len(share), np.bool_)
    while True:
        found[~few] = dealt(share[~few], CYCLE - int(few.sum()))
        if found.min() > 0:
            return found
        few |= found < 1
        found[few] = 1


def dealt(share: NDArray[Any], count: int) -> Int:
    """(components,) int64 with sum `count`, as near to the shares as whole numbers come: rounded
    down, and the largest remainders up; of equal ones the first."""
    ideal = np.asarray(share, np.float64) / np.sum(share) * count
    found: Int = np.floor(ideal + EXACT).astype(np.int64)
    behind = np.argsort(found - ideal, kind="stable")[: count - int(found.sum())]
    found[behind] += 1
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """How an epoch of `total` samples is dealt, group by group.

    Every group has the same samples of each component, but for the last, which is shorter.

    Args:
        quota: (components,) int64, of a cycle.
    """

    quota: Int
    total: int

    @property
    def in_group(self) -> Int:
        """(components,) samples of each in a whole group: several cycles."""
        return self.quota * max(1, CYCLE // int(self.quota.sum()))

    @property
    def group(self) -> int:
        """Samples in a group."""
        return int(self.in_group.sum())

    def in_last(self) -> Int:
        """(components,) samples of each in what is left behind the whole groups."""
        return dealt(self.quota, self.total % self.group)

    def in_epoch(self) -> Int:
        """(components,) samples of each in an epoch."""
        return self.in_group * (self.total // self.group) + self.in_last()
