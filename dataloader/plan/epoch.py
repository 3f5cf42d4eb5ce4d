"""An epoch's tickets: the order cut into batches, with each block's last use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from forebay.dataloader.flow.stage import BatchPolicy
from forebay.dataloader.flow.ticket import Part, Ticket
from forebay.dataloader.plan.order import Blocks, Full, Int, Order, OrderName, Sequential, Uses
from forebay.dataloader.plan.window import Window, WindowShape

CHUNK = 1 << 13
"""Positions located at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanSettings:
    """What the order of samples is a function of, besides epoch and position.

    Args:
        first_row: (blocks + 1,) int64, first record of each block over the dataset, and the total.
        order: by name.
        seed: in [0, 2**64).
        shape: of the window order.
        by_record: whether rows are read one by one, without their blocks (full order only).
    """

    first_row: Int
    order: OrderName
    seed: int
    shape: WindowShape
    by_record: bool = False

    @property
    def total(self) -> int:
        """Samples in an epoch."""
        return int(self.first_row[-1])

    def order_of(self, epoch: int) -> Order:
        """The order of one epoch."""
        match self.order:
            case "sequential":
                return Sequential(self.first_row)
            case "blocks":
                return Blocks(self.first_row, self.seed, epoch)
            case "full":
                return Full(self.first_row, self.seed, epoch)
            case "window":
                return Window(self.first_row, self.seed, epoch, self.shape)


class EpochPlan:
    """The tickets of one epoch, from a step on.

    Args:
        together: batches that travel in one ticket.
    """

    def __init__(
        self, settings: PlanSettings, policy: BatchPolicy, epoch: int, together: int = 1
    ) -> None:
        self._together = together
        self._settings = settings
        self._policy = policy
        self._epoch = epoch
        self._order = settings.order_of(epoch)
        self.keep_for_later = settings.order == "full"

    def tickets(self, step: int = 0) -> Iterator[Ticket]:
        """Tickets in step order, beginning at `step`."""
        total = self._settings.total
        uses = None if self._settings.by_record else self._order.uses()
        last, spare = _Leaving(uses, final=True), _Leaving(uses, final=False)
        ahead = _Ahead(self._order, total)
        steps = self._policy.steps(total)
        for s in range(step, steps, self._together):
            parts = self._parts(s, min(s + self._together, steps), total)
            first, _ = self._policy.span(s, total)
            stop = first + parts[-1].stop
            blocks, rows = ahead.locate(first, stop)
            yield Ticket(
                epoch=self._epoch,
                parts=parts,
                positions=np.arange(first, stop, dtype=np.int64),
                blocks=blocks,
                rows=rows,
                last_use=last.upto(stop),
                spare=spare.upto(stop),
                by_record=self._settings.by_record,
            )

    def _parts(self, step: int, stop: int, total: int) -> tuple[Part, ...]:
        parts: list[Part] = []
        begin = 0
        for s in range(step, stop):
            _, n = self._policy.span(s, total)
            parts.append(Part(s, begin, begin + n, n))
            begin += n
        return tuple(parts)


class _Ahead:
    """Locates runs of positions, many at a time: orders work on whole arrays."""

    def __init__(self, order: Order, total: int) -> None:
        self._order = order
        self._total = total
        self._first = self._stop = 0
        self._blocks = self._rows = np.empty(0, np.int64)

    def locate(self, first: int, stop: int) -> tuple[Int, Int]:
        if first < self._first or stop > self._stop:
            self._first = first
            self._stop = max(stop, min(first + CHUNK, self._total))
            positions = np.arange(self._first, self._stop, dtype=np.int64)
            self._blocks, self._rows = self._order.locate(positions)
        a, b = first - self._first, stop - self._first
        return self._blocks[a:b], self._rows[a:b]


class _Leaving:
    """Which uses of blocks end, told as positions pass: their final ones, or the others."""

    def __init__(self, uses: Uses | None, final: bool) -> None:
        empty = np.empty(0, np.int64)
        blocks, last = (empty, empty) if uses is None else (uses.blocks, uses.last)
        order = np.lexsort((last, blocks))
        blocks, last = blocks[order], last[order]
        chosen = np.r_[blocks[1:] != blocks[:-1], True][: len(blocks)] == final
        order = np.argsort(last[chosen], kind="stable")
        self._blocks, self._last = blocks[chosen][order], last[chosen][order]
        self._told = 0

    def upto(self, position: int) -> tuple[int, ...]:
        """Blocks not told before whose last position lies below this one."""
        stop = int(np.searchsorted(self._last, position))
        told, self._told = self._told, max(stop, self._told)
        return tuple(int(b) for b in self._blocks[told:stop])
