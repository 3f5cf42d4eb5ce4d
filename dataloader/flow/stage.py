"""The contracts of the rooms: what the runner asks of each, and nothing else.

A stage is `open(context)`, `run(task)`, `close()` and holds no state that would have to be saved:
what persists is (epoch, next position) and the batch policy's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from forebay.dataloader.flow.fault import Fault
from forebay.dataloader.flow.slot import Slot, SlotSpec
from forebay.dataloader.flow.ticket import LoadKey, Scattered, Slice, Ticket


class Plan(Protocol):
    """Gives a run its tickets, in step order."""

    keep_for_later: bool
    """Whether unneeded blocks may be dropped freely, because they are kept only on the chance of
    being asked for again (where any position may need any block)."""

    def tickets(self) -> Iterator[Ticket]: ...


class Span(NamedTuple):
    """One batch's part of a run of positions, over all ranks.

    Args:
        first: its first position, counted from the run's.
        n: samples of it.
        repeats: samples that come again behind them, so that ranks have equal shares.
    """

    first: int
    n: int
    repeats: int


class BatchPolicy(Protocol):
    """Cuts a run of positions, from anywhere in the epoch's order to its end, into batches."""

    def steps(self, total: int) -> int:
        """Batches of a run of `total` positions."""
        ...

    def span(self, step: int, total: int, ranks: int) -> Span:
        """The step's part of it, shared by so many ranks."""
        ...


class Substitutes(Protocol):
    """Says which records may stand in for one that cannot be delivered."""

    def blocks(self, block: int) -> Iterator[int]:
        """The blocks to look in for a record of this one."""
        ...

    def rows(self, epoch: int, position: int, block: int) -> list[int]:
        """The rows of a block to try for the sample at a position, in order."""
        ...


class Fetch(Protocol):
    """Makes blocks resident. Stateless: the flow keeps what it returns."""

    def open(self) -> None: ...

    def cost(self, key: LoadKey, rows: Scattered | None) -> tuple[int, int]:
        """(bytes held only while `run` works, bytes of what it returns), each at most.

        Raises:
            Exception: as `run`.
        """
        ...

    def run(self, key: LoadKey, rows: Scattered | None) -> tuple[Any, int]:
        """The block, or of it the rows asked for, checked and decompressed, and its bytes.

        Raises:
            Exception: one of `damage` is a fault of the samples in it; any other ends the run.
        """
        ...

    @property
    def damage(self) -> tuple[type[Exception], ...]:
        """The errors that mean damaged data."""
        ...

    def close(self) -> None: ...


class Decode(Protocol):
    """Turns rows of resident blocks into samples, straight into their slot."""

    def open(self) -> None: ...

    def run(self, task: Slice, blocks: Mapping[LoadKey, Any], slot: Slot) -> list[Fault]:
        """Writes the rows of `task` whose load is in `blocks` to their places in the slot: the
        fields that are copied if it gathers, else those that are decoded. Where user code makes
        samples of the fields, a task that does not gather writes all of them, and the samples."""
        ...

    def stop(self) -> None:
        """The run ends, and nobody waits for what tasks under way make: they may give up. Takes no
        lock, since a finalizer calls it."""
        ...

    def close(self) -> None: ...


class Batch(Protocol):
    """Declares what a batch holds, and seals the finished slot."""

    def open(self) -> None: ...

    def declare(self) -> SlotSpec:
        """What the next slot holds; only the estimate in it may change."""
        ...

    def run(self, ticket: Ticket, count: int, slot: Slot) -> list[Any]:
        """The first `count` batches of the ticket.

        Raises:
            UnlikeSamples: those of one batch do not go together.
        """
        ...

    def close(self) -> None: ...


class Device(Protocol):
    """Owns the memory of slots, and brings sealed batches to where the consumer wants them."""

    def open(self) -> None: ...

    def allocate(self, spec: SlotSpec, n: int) -> Slot: ...

    def trim(self, nbytes: int) -> int:
        """Frees idle memory of about that many bytes for the budget; returns what it freed."""
        ...

    def run(self, sealed: list[Any], slot: Slot) -> list[Any]:
        """The sealed batches of the slot, where the consumer wants them."""
        ...

    def close(self) -> None: ...
