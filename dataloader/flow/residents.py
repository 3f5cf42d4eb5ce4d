"""Which loads are needed by whom: the flow's table of resident blocks.

Pure bookkeeping: no threads, no locks. The line calls it under the runner's lock.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.kept import Kept
from forebay.dataloader.flow.ticket import LoadKey


@dataclass(slots=True, eq=False)
class Resident:
    """One load: asked for, under way, or in memory.

    Args:
        stored: bytes charged to fetch until the load is done.
        memory: bytes charged to blocks until it is dropped.
        refs: slices not yet decoded that need it.
        keep: whether later tickets of the plan need it too.
        spare: whether that is far off, so that it is dropped before anything waits for room.
        waiting: slices that can start only when it is there.
    """

    key: LoadKey
    stored: int
    memory: int
    refs: int = 0
    keep: bool = True
    spare: bool = False
    done: bool = False
    block: Any = None
    error: Exception | None = None
    waiting: list[Any] = field(default_factory=list)


class Residents:
    """All loads of one run, with their bytes charged to the budget.

    Args:
        kept: where blocks go that the run needs no more; None: they are dropped.
    """

    def __init__(self, budget: Budget, kept: Kept | None = None) -> None:
        self._budget = budget
        self._kept = kept
        self._by_key: dict[LoadKey, Resident] = {}
        # Unneeded at the moment but kept; the least recently used comes first.
        self._idle: OrderedDict[LoadKey, Resident] = OrderedDict()
        self._spare: OrderedDict[LoadKey, Resident] = OrderedDict()

    def get(self, key: LoadKey) -> Resident | None:
        return self._by_key.get(key)

    def add(self, key: LoadKey, stored: int, memory: int) -> Resident:
        """Notes a load whose bytes are charged already (fetch: stored, blocks: memory)."""
        resident = Resident(key, stored, memory, keep=key.step < 0)
        self._by_key[key] = resident
        return resident

    def revive(self, key: LoadKey, block: Any, nbytes: int) -> Resident:
        """Notes a block of an earlier run, whose bytes are charged already."""
        resident = self.add(key, 0, nbytes)
        resident.block, resident.done = block, True
        return resident

    def need(self, resident: Resident) -> None:
        """One more slice needs it."""
        resident.refs += 1
        resident.spare = False
        self._unlist(resident)

    def loaded(
        self, resident: Resident, block: Any, nbytes: int, error: Exception | None
    ) -> list[Any]:
        """The load is over and holds so many bytes; returns the slices that waited for it."""
        stored, excess = resident.stored, max(0, resident.memory - nbytes)
        # Noted first: an interrupt in between must not end in bytes given back twice.
        resident.stored, resident.memory = 0, resident.memory - excess
        self._budget.release("fetch", stored)
        self._budget.release("blocks", excess)
        resident.block, resident.error, resident.done = block, error, True
        waiting, resident.waiting = resident.waiting, []
        return waiting

    def unneed(self, resident: Resident) -> None:
        """One slice less needs it."""
        resident.refs -= 1
        self._settle(resident)

    def last_use(self, key: LoadKey) -> None:
        """No later ticket needs it: it goes as soon as its slices are decoded."""
        resident = self._by_key.get(key)
        if resident is not None:
            resident.keep = False
            self._settle(resident)

    def set_spare(self, key: LoadKey) -> None:
        """Later tickets need it, but not soon."""
        resident = self._by_key.get(key)
        if resident is not None:
            resident.spare = True
            self._settle(resident)

    def evict(self, spare_only: bool) -> bool:
        """Drops the block that was idle longest, spare ones first; False when there is none."""
        idle = self._spare or (None if spare_only else self._idle)
        if not idle:
            return False
        _, resident = idle.popitem(last=False)
        self._drop(resident)
        return True

    def clear(self) -> None:
        """Drops everything and gives all bytes back, but for what the next run gets."""
        for resident in list(self._by_key.values()):
            self._retire(resident)
        self._idle.clear()
        self._spare.clear()

    def _settle(self, resident: Resident) -> None:
        if resident.refs or not resident.done:
            return
        # A failed load is not kept: the next ticket tries again, and names its own faults.
        self._unlist(resident)
        if resident.keep and resident.error is None:
            (self._spare if resident.spare else self._idle)[resident.key] = resident
        else:
            self._retire(resident)

    def _retire(self, resident: Resident) -> None:
        key, block, nbytes = resident.key, resident.block, resident.memory
        whole = resident.done and resident.error is None and key.step < 0
        self._drop(resident)
        if whole and self._kept is not None:
            self._kept.leave(key, block, nbytes)

    def _unlist(self, resident: Resident) -> None:
        self._idle.pop(resident.key, None)
        self._spare.pop(resident.key, None)

    def _drop(self, resident: Resident) -> None:
        self._by_key.pop(resident.key, None)
        stored, memory = resident.stored, resident.memory
        resident.stored = resident.memory = 0
        resident.block = None
        self._budget.release("fetch", stored)
        self._budget.release("blocks", memory)
