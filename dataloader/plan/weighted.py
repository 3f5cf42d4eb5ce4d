"""Weighted orders: records drawn in proportion to their weights, with or without replacement."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ranks import Ranks
from forebay.dataloader.plan.order import Int
from forebay.kernels.philox import derive_key, draws
from forebay.kernels.window_rows import locate_rows

# The purposes that keys of weighted draws are derived for; numbers for ever, see plan.order.
PURPOSE_DRAWS = 7
PURPOSE_CLOCKS = 8

PARTS = 1 << 52
"""Weights become shares of so many parts, which a float64 counts exactly."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """How often each record is drawn.

    Args:
        of: (records,) float64, finite, none negative, some positive; 8 bytes a record, and in each
            epoch as much again.
        samples: drawn in an epoch.
        replacement: whether a record may come again before the others have come.
    """

    of: NDArray[np.float64]
    samples: int
    replacement: bool

    def digest(self) -> str:
        """16 hex digits that tell weights apart."""
        return hashlib.sha256(np.ascontiguousarray(self.of, "<f8").tobytes()).hexdigest()[:16]


class Weighted:
    """One epoch's draws.

    With replacement position p is where a uniform number falls in the cumulative weights. Without,
    each record rings at a time that is exponential in its weight, -log(u) / w, and the order is
    that of the rings (P. Efraimidis and P. Spirakis, Information Processing Letters 97, 2006): the
    next one is any of those left, in proportion to their weights.
    """

    def __init__(self, first_row: Int, seed: int, epoch: int, weights: Weights) -> None:
        self._first_row = first_row
        self._weights = weights
        purpose = PURPOSE_DRAWS if weights.replacement else PURPOSE_CLOCKS
        self._key = derive_key(seed, epoch, purpose)
        self._table = self._cumulative() if weights.replacement else self._rings()

    def locate(self, positions: Int) -> tuple[Int, Int]:
        if self._weights.replacement:
            drawn = (_uniform(self._key, positions) * self._table[-1]).astype(np.int64)
            records, _ = locate_rows(drawn, self._table)
        else:
            records = self._table[positions]
        return locate_rows(records, self._first_row)

    def uses(self, ranks: Ranks) -> None:
        return None

    def _cumulative(self) -> Int:
        """(records + 1,) how many parts lie before each record; one of any weight has a part."""
        of = self._weights.of
        # Against the largest first: the sum of huge weights would be infinite.
        scaled = of / of.max()
        parts = np.floor(scaled * (PARTS / scaled.sum())).astype(np.int64)
        parts = np.maximum(parts, of > 0)
        before: Int = np.r_[0, np.cumsum(parts)].astype(np.int64)
        return before

    def _rings(self) -> Int:
        """(samples,) records in the order that they ring."""
        weights = self._weights
        chosen: Int = np.flatnonzero(weights.of)
        # Never 0, and logarithms of the times, since weights may differ by any factor.
        uniform = _uniform(self._key, chosen) + 2.0**-54
        clocks = np.log(-np.log(uniform)) - np.log(weights.of[chosen])
        order = np.argsort(clocks, kind="stable")[: weights.samples]
        return chosen[order]


def _uniform(key: tuple[int, int], counters: Int) -> NDArray[np.float64]:
    """(n,) float64 in [0, 1), of 53 bits each."""
    words = draws(key, counters)
    high, low = words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)
    return ((high << np.uint64(21)) | (low >> np.uint64(11))).astype(np.float64) * 2.0**-53
