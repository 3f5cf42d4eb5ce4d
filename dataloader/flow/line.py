"""The line: tickets in step order, and which piece of work comes next.

Pure scheduling: no threads, no locks, no clocks. The runner calls it under one lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.fault import Fault
from forebay.dataloader.flow.kept import Kept
from forebay.dataloader.flow.residents import Resident, Residents
from forebay.dataloader.flow.slot import Slot, SlotSpec
from forebay.dataloader.flow.stage import Device, Fetch
from forebay.dataloader.flow.ticket import Cutting, LoadKey, Scattered, Slice, Ticket, cut


@dataclass(slots=True, eq=False)
class Flight:
    """One ticket under way, from its admission to the delivery of its last batch.

    `faults` are by place. `batches` are those up to the first that has a fault, until delivered.

    It must not end in a cycle of references, or its batch would live on until the collector comes
    round: it knows its slices only until they start.
    """

    ticket: Ticket
    unentered: deque[Pending] = field(default_factory=deque)
    charged: int = 0
    slot: Slot | None = None
    left: int = 0
    ready: deque[Pending] = field(default_factory=deque)
    faults: dict[int, Fault] = field(default_factory=dict)
    batches: deque[Any] = field(default_factory=deque)
    done: bool = False


@dataclass(slots=True, eq=False)
class Pending:
    """One slice under way: it can start when nothing is missing.

    Loads that have not come are missing, and one more thing: the admission of all its loads.
    """

    flight: Flight
    slice: Slice
    needed: list[Resident] = field(default_factory=list)
    missing: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class LoadTask:
    """Bring one load into memory."""

    resident: Resident
    rows: Scattered | None
    step: int

    @property
    def first(self) -> tuple[int, int]:
        """(block, row of it) where the load begins."""
        return (self.resident.key.block, 0) if self.rows is None else self.rows.first


@dataclass(frozen=True, slots=True, eq=False)
class SliceTask:
    """Decode one slice, whose loads are over."""

    pending: Pending

    @property
    def blocks(self) -> dict[LoadKey, Any]:
        """The loads that came; those that failed are in `failed`."""
        return {r.key: r.block for r in self.pending.needed if r.error is None}

    @property
    def failed(self) -> dict[LoadKey, Exception]:
        return {r.key: r.error for r in self.pending.needed if r.error is not None}


@dataclass(frozen=True, slots=True, eq=False)
class SealTask:
    """Make a batch of a flight whose slices are all decoded."""

    flight: Flight


Task = LoadTask | SliceTask | SealTask


@dataclass(frozen=True, slots=True)
class LineSettings:
    """How a run is cut and bounded.

    Args:
        cutting: of tickets into slices.
        depth: tickets under way at once, finished ones that wait for the consumer included.
        evict_early: whether kept blocks are dropped to admit any ticket, not only the head.
        kept: of the loader, where its runs leave blocks for the next; None: they are dropped.
    """

    cutting: Cutting
    depth: int
    evict_early: bool
    kept: Kept | None = None


class Line:
    """Admits tickets as the budget allows, hands out tasks, takes results back.

    Bytes are charged in step order, so a later ticket never holds what an earlier one waits for.
    The head may overdraw when nothing else can move, so the budget cannot deadlock.
    """

    def __init__(
        self,
        tickets: Iterator[Ticket],
        declare: Callable[[], SlotSpec],
        budget: Budget,
        fetch: Fetch,
        device: Device,
        settings: LineSettings,
    ) -> None:
        self._tickets = tickets
        self._declare = declare
        self._budget = budget
        self._fetch = fetch
        self._device = device
        self._settings = settings
        self._flights: deque[Flight] = deque()
        self._entering: Flight | None = None
        self._loads: deque[LoadTask] = deque()
        self._unsealed: deque[Flight] = deque()
        self._residents = Residents(budget, settings.kept)
        self._running = 0
        self._exhausted = False

    @property
    def empty(self) -> bool:
        """Whether every ticket of the plan has been delivered."""
        return self._exhausted and not self._flights

    @property
    def full(self) -> bool:
        """Whether more work waits for room, not for tickets."""
        return self._entering is not None or len(self._flights) >= self._settings.depth

    def pick(self) -> Task | None:
        """The next task, lowest step first; None when nothing can start now."""
        self._admit()
        task = self._next_task()
        if task is not None:
            self._running += 1
        return task

    def take_head(self) -> Flight | None:
        """The next flight to deliver, if it is done. Its bytes stay charged until `delivered`."""
        if not self._flights or not self._flights[0].done:
            return None
        return self._flights.popleft()

    def delivered(self, flight: Flight) -> None:
        """The last batch of the flight is the consumer's, and so are its bytes."""
        self._budget.release("slots", flight.charged)

    def loaded(self, task: LoadTask, block: Any, nbytes: int, error: Exception | None) -> None:
        """A load is over: it gave a block of so many bytes, or found damage."""
        self._running -= 1
        for pending in self._residents.loaded(task.resident, block, nbytes, error):
            _arrived(pending)

    def decoded(self, task: SliceTask, faults: list[Fault]) -> None:
        """A slice is over; its flight is sealed next when that was the last."""
        self._running -= 1
        pending = task.pending
        flight = pending.flight
        for resident in pending.needed:
            self._residents.unneed(resident)
        pending.needed.clear()
        for fault in faults:
            flight.faults.setdefault(fault.place, fault)
        flight.left -= 1
        if flight.left == 0:
            self._unsealed.append(flight)

    def sealed(self, flight: Flight, batches: Iterable[Any]) -> None:
        """A flight is ready for the consumer."""
        self._running -= 1
        if flight.slot is not None:
            flight.charged += flight.slot.grown
            if flight.slot.batch_bytes is not None:
                more = flight.slot.batch_bytes - flight.charged
                self._budget.charge("slots", max(0, more))
                self._budget.release("slots", max(0, -more))
                flight.charged += more
            flight.slot = None
        flight.batches.extend(batches)
        flight.done = True

    def clear(self) -> None:
        """Drops everything under way and gives all bytes back."""
        while self._flights:
            flight = self._flights.popleft()
            self._budget.release(
                "slots", flight.charged + (flight.slot.grown if flight.slot else 0)
            )
        self._entering = None
        self._exhausted = True
        self._loads.clear()
        self._unsealed.clear()
        self._residents.clear()

    def _next_task(self) -> Task | None:
        if self._unsealed:
            return SealTask(self._unsealed.popleft())
        flight = next((f for f in self._flights if f.ready), None)
        load = self._loads[0] if self._loads else None
        # At the same step loads go first: slices of it wait for them.
        if load is not None and (flight is None or load.step <= flight.ticket.step):
            return self._loads.popleft()
        if flight is not None:
            return SliceTask(flight.ready.popleft())
        return None

    def _admit(self) -> None:
        while True:
            flight = self._entering or self._draw()
            if flight is None or not self._enter(flight):
                return
            if flight.left == 0:
                self._unsealed.append(flight)
            for block in flight.ticket.last_use:
                self._residents.last_use(LoadKey(block))
            for block in flight.ticket.spare:
                self._residents.set_spare(LoadKey(block))
            self._entering = None

    def _draw(self) -> Flight | None:
        if self._exhausted or len(self._flights) >= self._settings.depth:
            return None
        ticket = next(self._tickets, None)
        if ticket is None:
            self._exhausted = True
            return None
        flight = Flight(ticket)
        slices = cut(ticket, self._settings.cutting)
        flight.unentered.extend(Pending(flight, s) for s in slices)
        flight.left = len(slices)
        self._flights.append(flight)
        self._entering = flight
        return flight

    def _enter(self, flight: Flight) -> bool:
        """Charges for the slot and each load of the flight; False when the budget has no room."""
        if flight.slot is None:
            spec = self._declare()
            nbytes = spec.nbytes(len(flight.ticket))
            # Before its charge, or idle memory that is used again would count twice. Where there is
            # no room it becomes idle again.
            slot = self._device.allocate(spec, len(flight.ticket))
            if not self._charge(flight, slot=nbytes):
                return False
            flight.charged, flight.slot = nbytes, slot
        while flight.unentered:
            pending = flight.unentered[0]
            if not self._need_all(flight, pending):
                return False
            flight.unentered.popleft()
            _arrived(pending)
        return True

    def _need_all(self, flight: Flight, pending: Pending) -> bool:
        for i in range(len(pending.needed), len(pending.slice.keys)):
            key = pending.slice.keys[i]
            resident = self._residents.get(key)
            if resident is None:
                resident = self._start(flight, key, pending.slice.wanted[i])
                if resident is None:
                    return False
            self._residents.need(resident)
            pending.needed.append(resident)
            if not resident.done:
                pending.missing += 1
                resident.waiting.append(pending)
        return True

    def _start(self, flight: Flight, key: LoadKey, rows: Scattered | None) -> Resident | None:
        """Charges for a load and queues it, unless an earlier run left the block; None when the
        budget has no room."""
        kept = self._settings.kept
        if kept is not None and (found := kept.take(key)) is not None:
            if self._charge(flight, blocks=found[1]):
                return self._residents.revive(key, *found)
            kept.leave(key, *found)
            return None
        try:
            stored, memory = self._fetch.cost(key, rows)
        except self._fetch.damage as e:
            # What says how large the block is, is damaged: a load that found damage, already over.
            resident = self._residents.add(key, 0, 0)
            self._residents.loaded(resident, None, 0, e)
            return resident
        if not self._charge(flight, fetch=stored, blocks=memory):
            return None
        resident = self._residents.add(key, stored, memory)
        self._loads.append(LoadTask(resident, rows, flight.ticket.step))
        return resident

    def _charge(self, flight: Flight, *, slot: int = 0, fetch: int = 0, blocks: int = 0) -> bool:
        total = slot + fetch + blocks
        # One charge decides; the accounts are told apart afterwards.
        while not self._budget.try_charge("slots", total):
            if self._device.trim(total):
                continue
            if self._settings.kept is not None and self._settings.kept.trim(total):
                continue
            if self._residents.evict(spare_only=not self._settings.evict_early):
                continue
            # What runs now may make room. Only a head that waits for nothing takes it by force:
            # from blocks needed soon, or else from the limit itself.
            if flight is not self._flights[0] or self._running or self._loads or flight.ready:
                return False
            if not self._residents.evict(spare_only=False):
                self._budget.charge("slots", total)
                break
        if fetch or blocks:
            self._budget.move("slots", "fetch", fetch)
            self._budget.move("slots", "blocks", blocks)
        return True


def _arrived(pending: Pending) -> None:
    pending.missing -= 1
    if pending.missing == 0:
        pending.flight.ready.append(pending)
