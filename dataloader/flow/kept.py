"""Blocks that one run leaves for the next: what fits in memory is read once, not each epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.ticket import LoadKey


class Kept:
    """Whole blocks by key, within the budget; the first left goes first. Safe in several threads.

    Its charge is stated anew with each change, so what an interrupt tears is right again with the
    next.

    Args:
        sound: whether a block may stay; one with damage is read anew, which may have been mended.
    """

    def __init__(self, budget: Budget, sound: Callable[[Any], bool]) -> None:
        self._budget = budget
        self._sound = sound
        # Reentrant: the collector may close another run of the same loader while we are inside.
        self._lock = threading.RLock()
        self._blocks: dict[LoadKey, tuple[Any, int]] = {}
        self._nbytes = 0

    def leave(self, key: LoadKey, block: Any, nbytes: int) -> None:
        """Keeps a block of so many bytes, which nobody else charges, if there is room."""
        with self._lock:
            self.take(key)
            if self._sound(block) and self._budget.try_hold("kept", self._nbytes + nbytes):
                self._blocks[key] = block, nbytes
                self._nbytes += nbytes

    def take(self, key: LoadKey) -> tuple[Any, int] | None:
        """(block, its bytes), if it was left; the caller charges them from now on."""
        with self._lock:
            found = self._blocks.pop(key, None)
            if found is not None:
                self._shrink(found[1])
            return found

    def trim(self, nbytes: int) -> int:
        """Drops blocks until about `nbytes` are free; returns how many were."""
        freed = 0
        with self._lock:
            while self._blocks and freed < nbytes:
                _, size = self._blocks.pop(next(iter(self._blocks)))
                self._shrink(size)
                freed += size
        return freed

    def _shrink(self, nbytes: int) -> None:
        self._nbytes = self._nbytes - nbytes if self._blocks else 0
        self._budget.hold("kept", self._nbytes)
