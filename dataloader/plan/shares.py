"""How a mixture's samples are dealt to its components, in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.plan.order import Int

CYCLE = 1 << 12
"""Samples of a group at most; shares are whole numbers of it."""
EXACT = 1e-9
AT_ONCE = 1 << 18
"""Numbers of trial cycles that are worked out at once."""


def quotas(weights: Sequence[float]) -> Int:
    """(components,) int64: samples of each in a cycle, the shortest cycle that has the shares.

    Where none of up to `CYCLE` samples has them exactly, the one that comes closest: a share is
    wrong by less than 1 / CYCLE. Every component with a weight has one sample at least: where
    shares are below that, the others give theirs.

    Args:
        weights: of components, at most CYCLE; not below 0, and one above it.
    """
    weight = np.array(weights, np.float64)
    some = weight > 0
    share = weight[some] / weight[some].sum()
    found = np.zeros(len(weight), np.int64)
    cycle = _cycle_of(share)
    found[some] = dealt(share, cycle) if cycle else _at_least_one(share)
    return found


def _cycle_of(share: NDArray[Any]) -> int:
    """Of the cycles in which each has a sample the one that is nearest to the shares, and of those
    within `EXACT` the shortest; 0 where there is none."""
    best, cycle = math.inf, 0
    rows = max(1, AT_ONCE // len(share))
    for first in range(len(share), CYCLE + 1, rows):
        cycles = np.arange(first, min(first + rows, CYCLE + 1))
        found = dealt(share, cycles)
        error = np.abs(found / cycles[:, None] - share).max(axis=1)
        error[found.min(axis=1) < 1] = math.inf
        for of, at in zip(error.tolist(), cycles.tolist(), strict=True):
            if of < best - EXACT:
                best, cycle = of, at
            if best < EXACT:
                return cycle
    return cycle


def _at_least_one(share: NDArray[Any]) -> Int:
    """A cycle of CYCLE samples: one for what has less by its share, the rest by shares."""
    found, few = np.ones(len(share), np.int64), np.zeros(len(share), np.bool_)
    while True:
        found[~few] = dealt(share[~few], CYCLE - int(few.sum()))
        if found.min() > 0:
            return found
        few |= found < 1
        found[few] = 1


def dealt(share: NDArray[Any], count: int | Int) -> Int:
    """(..., components) int64 with sum `count`, (...) of them, as near to the shares as whole
    numbers come: rounded down, and the largest remainders up; of equal ones the first."""
    count = np.asarray(count)[..., None]
    ideal = np.asarray(share, np.float64) / np.sum(share) * count
    found: Int = np.floor(ideal + EXACT).astype(np.int64)
    behind = np.argsort(found - ideal, axis=-1, kind="stable")
    up = np.arange(found.shape[-1]) < count - found.sum(axis=-1, keepdims=True)
    np.put_along_axis(found, behind, np.take_along_axis(found, behind, -1) + up, -1)
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
