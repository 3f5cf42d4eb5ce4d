"""The fixed batch policy: n samples a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from forebay.dataloader.flow.stage import Span

Uneven = Literal["pad", "wrap", "drop"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """Batches of n samples over all ranks.

    Args:
        n: samples.
        uneven: what becomes of a last batch that is short. "pad": the first samples of the epoch
            come again until every rank has as many as the others. "wrap": until the batch is full.
            "drop": it is left out. Samples that come again are marked, and count for nothing.
    """

    n: int
    uneven: Uneven = "pad"

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or isinstance(self.n, bool) or self.n < 1:
            raise ValueError(f"batch_size must be an int of at least 1, got {self.n!r}")

    def steps(self, total: int) -> int:
        """Batches of `total` positions."""
        return total // self.n if self.uneven == "drop" else -(-total // self.n)

    def span(self, step: int, total: int, ranks: int) -> Span:
        """The step's part of `total` positions."""
        first = step * self.n
        n = min(self.n, total - first)
        if n == self.n:
            return Span(first, n, 0)
        return Span(first, n, self.n - n if self.uneven == "wrap" else -n % ranks)
