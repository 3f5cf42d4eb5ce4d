"""Ranks: which of the processes that train together this one is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among those that share each batch.

    Args:
        rank: of this process, in [0, size).
        size: of the world: how many there are.

    Raises:
        ValueError: a rank that is not in the world.
    """

    rank: int = 0
    size: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"world_size must be at least 1, got {self.size}")
        if not 0 <= self.rank < self.size:
            raise ValueError(
                f"rank must be from 0 to {self.size - 1} in a world of {self.size}, got {self.rank}"
            )

    def below(self, position: int) -> int:
        """How many positions of the epoch's order below this one are the rank's.

        Of every run of `size` positions each rank has one: p is of the rank p % size.
        """
        return max(0, -(-(position - self.rank) // self.size))


ALONE = Ranks()
"""A world of one."""
