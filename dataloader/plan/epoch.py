"""An epoch's tickets: the order cut into batches, with each block's last use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ranks import ALONE, Ranks
from forebay.dataloader.flow.stage import BatchPolicy
from forebay.dataloader.flow.ticket import Part, Ticket
from forebay.dataloader.plan.kept import KeptRows
from forebay.dataloader.plan.mixture import Mixed, MixturePlan
from forebay.dataloader.plan.order import Blocks, Full, Int, Order, OrderName, Sequential, Uses
from forebay.dataloader.plan.weighted import Weighted, Weights
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
        by_record: whether rows are read one by one, without their blocks (where any position may
            need any block).
        weights: of the weighted order.
        kept: (rows,) of each row of a filtered dataset, the row in its block; None: all rows are.
        filtered: the filter, as a cursor tells it; "" for none.
        mixture: of several datasets, whose blocks lie one behind the other.
    """

    first_row: Int
    order: OrderName
    seed: int
    shape: WindowShape
    by_record: bool = False
    weights: Weights | None = None
    kept: NDArray[np.unsignedinteger[Any]] | None = None
    filtered: str = ""
    mixture: MixturePlan | None = None

    @property
    def total(self) -> int:
        """Samples in an epoch."""
        if self.mixture is not None:
            return self.mixture.shares.total
        return self.weights.samples if self.weights else int(self.first_row[-1])

    @property
    def anywhere(self) -> bool:
        """Whether any position may need any block."""
        return self.order in ("full", "weighted")

    @property
    def known_epoch(self) -> int:
        """An epoch whose order is known from its first position on."""
        change = self.mixture.change if self.mixture is not None else None
        return 0 if change is None else change.epoch + 1

    def described(self) -> dict[str, str | int]:
        """What a cursor says of it; together with the dataset and the seed it is the order."""
        told = self._described()
        return told | {"filter": self.filtered} if self.filtered else told

    def _described(self) -> dict[str, str | int]:
        if self.mixture is not None:
            return {"order": self.order, "mixture": self.mixture.digest()}
        if self.weights is not None:
            return {
                "order": self.order,
                "weights": self.weights.digest(),
                "replacement": self.weights.replacement,
                "samples": self.weights.samples,
            }
        if self.order != "window":
            return {"order": self.order}
        shape = self.shape
        return {
            "order": self.order,
            "lanes": shape.lanes,
            "blocks": shape.blocks,
            "affinity": shape.sticky,
        }

    def order_of(self, epoch: int) -> Order:
        """The order of one epoch."""
        if self.mixture is not None:
            shuffled = self.order != "sequential"
            return Mixed(self.mixture, self.seed, epoch, shuffled=shuffled)
        order = self._order_of(epoch)
        return order if self.kept is None else KeptRows(order, self.first_row, self.kept)

    def _order_of(self, epoch: int) -> Order:
        match self.order:
            case "sequential":
                return Sequential(self.first_row)
            case "blocks":
                return Blocks(self.first_row, self.seed, epoch)
            case "full":
                return Full(self.first_row, self.seed, epoch)
            case "window":
                return Window(self.first_row, self.seed, epoch, self.shape)
            case "weighted":
                assert self.weights is not None, "a weighted order has weights"
                return Weighted(self.first_row, self.seed, epoch, self.weights)


class EpochPlan:
    """The tickets of one rank in one epoch, from any position on.

    Args:
        ranks: that share each batch; position p is of the rank p % size.
        together: batches that travel in one ticket.
    """

    def __init__(
        self,
        settings: PlanSettings,
        policy: BatchPolicy,
        epoch: int,
        ranks: Ranks = ALONE,
        together: int = 1,
    ) -> None:
        self._settings = settings
        self._policy = policy
        self._epoch = epoch
        self._ranks = ranks
        self._together = together
        self._order = settings.order_of(epoch)
        self.keep_for_later = settings.anywhere

    def tickets(self, position: int = 0, step: int = 0) -> Iterator[Ticket]:
        """Tickets in step order. The first batch begins at `position` and is numbered `step`."""
        by_record = self._settings.by_record
        uses = None if by_record else self._order.uses(self._ranks)
        last = _Leaving(uses, position, final=True)
        spare = _Leaving(uses, position, final=False)
        ahead = _Ahead(self._order, self._settings.total, self._ranks)
        steps = self._policy.steps(self._settings.total - position)
        for k in range(0, steps, self._together):
            part_of = range(k, min(k + self._together, steps))
            parts, begin, stop = self._parts(position, step, part_of)
            positions, blocks, rows = ahead.locate(begin, stop)
            yield Ticket(
                epoch=self._epoch,
                parts=tuple(parts),
                positions=positions,
                blocks=blocks,
                rows=rows,
                last_use=last.upto(parts[-1].after),
                spare=spare.upto(parts[-1].after),
                by_record=by_record,
            )

    def _parts(self, position: int, step: int, steps: range) -> tuple[list[Part], int, int]:
        """The batches of these steps, counted from `step` at `position`; and of the rank's own
        positions in them the first and the one behind the last: its j-th is j * size + rank."""
        below = self._ranks.below
        left = self._settings.total - position
        parts: list[Part] = []
        place, begin, stop = 0, 0, 0
        for k in steps:
            first, n, repeats = self._policy.span(k, left, self._ranks.size)
            after = position + first + n
            own, counted, stop = (below(p) for p in (position + first, after, after + repeats))
            begin = own if not parts else begin
            parts.append(Part(step + k, place, place + stop - own, stop - counted, n, after))
            place += stop - own
        return parts, begin, stop


class _Ahead:
    """Locates runs of a rank's positions, many at a time: orders work on whole arrays."""

    def __init__(self, order: Order, total: int, ranks: Ranks) -> None:
        self._order = order
        self._total = total
        self._ranks = ranks
        self._first = self._stop = 0
        self._positions = self._blocks = self._rows = np.empty(0, np.int64)

    def locate(self, first: int, stop: int) -> tuple[Int, Int, Int]:
        """(positions, blocks, rows) of the rank's positions from its `first` to before `stop`;
        those beyond the epoch's end are its first ones again."""
        if first < self._first or stop > self._stop:
            self._first = first
            self._stop = max(stop, min(first + CHUNK, self._ranks.below(self._total)))
            own = np.arange(self._first, self._stop, dtype=np.int64)
            self._positions = (own * self._ranks.size + self._ranks.rank) % max(1, self._total)
            self._blocks, self._rows = self._order.locate(self._positions)
        a, b = first - self._first, stop - self._first
        return self._positions[a:b], self._blocks[a:b], self._rows[a:b]


class _Leaving:
    """Which uses of blocks end, told as positions pass: their final ones, or the others.

    Args:
        position: where the run begins.
    """

    def __init__(self, uses: Uses | None, position: int, final: bool) -> None:
        self._blocks = self._last = np.empty(0, np.int64)
        if uses is not None:
            chosen = uses.again != final
            order = np.argsort(uses.last[chosen], kind="stable")
            self._blocks, self._last = uses.blocks[chosen][order], uses.last[chosen][order]
        # What ended before was never read.
        self._told = int(np.searchsorted(self._last, position))
        self._next = self._next_last()

    def upto(self, position: int) -> tuple[int, ...]:
        """Blocks not told before whose last position lies below this one."""
        if position <= self._next:
            return ()
        told = self._told
        self._told = int(np.searchsorted(self._last, position))
        self._next = self._next_last()
        return tuple(self._blocks[told : self._told].tolist())

    def _next_last(self) -> int:
        """The last position of the block that is told next."""
        return int(self._last[self._told]) if self._told < len(self._last) else 1 << 62
