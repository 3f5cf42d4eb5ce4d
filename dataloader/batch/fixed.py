"""The fixed batch policy: n samples a batch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fixed:
    """Batches of n samples; the last one is short, or dropped with `drop_last`."""

    n: int
    drop_last: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or isinstance(self.n, bool) or self.n < 1:
            raise ValueError(f"batch_size must be an int of at least 1, got {self.n!r}")

    def steps(self, total: int) -> int:
        """Batches in an epoch of `total` positions."""
        return total // self.n if self.drop_last else -(-total // self.n)

    def span(self, step: int, total: int) -> tuple[int, int]:
        """First position and number of positions of a step."""
        first = step * self.n
        return first, min(self.n, total - first)
