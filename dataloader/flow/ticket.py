"""Tickets and slices: what moves through the flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from forebay.dataloader.flow.fault import Fault

Int = NDArray[np.int64]

SLICE_ROWS = range(4, 65)


class LoadKey(NamedTuple):
    """What one load makes resident.

    A whole block, which stays for several tickets, has step -1. Rows read for one ticket alone,
    from anywhere, have block -1, the ticket's step and the number of their load in it.
    """

    block: int
    step: int = -1
    number: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Scattered:
    """Rows to read one by one, from anywhere.

    Args:
        blocks: (k,) int64, the block that holds each.
        rows: (k,) int64, its row there.
    """

    blocks: Int
    rows: Int

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def first(self) -> tuple[int, int]:
        """(block, row of it) of the first."""
        return int(self.blocks[0]), int(self.rows[0])


class Part(NamedTuple):
    """One batch of a ticket: its places from `first` up to `stop`.

    Args:
        repeats: places at its end whose samples come again and count for nothing.
        n_global: samples of this step over all ranks, without repeats.
        after: where the next step begins in the epoch's global order.
        faults: samples of it that could not be delivered, by place in the batch as it was planned.
    """

    step: int
    first: int
    stop: int
    repeats: int
    n_global: int
    after: int
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A batch on its way, or several small ones in a row: which samples, in order.

    Pure, made by the plan. Small batches travel together, since what a ticket costs does not depend
    on its size.

    Args:
        parts: its batches, one after another; at least one.
        positions: (n,) int64, places in the epoch's global order.
        blocks: (n,) int64, the block that holds each sample's record.
        rows: (n,) int64, the record's row in its block.
        last_use: blocks that no later ticket of this run needs.
        spare: blocks that later tickets need again, but not soon.
        by_record: whether its rows are read one by one, without keeping their blocks.
    """

    epoch: int
    parts: tuple[Part, ...]
    positions: Int
    blocks: Int
    rows: Int
    last_use: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()
    by_record: bool = False

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def step(self) -> int:
        """Of its first batch."""
        return self.parts[0].step


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Some rows of a ticket, or all of them: one thread's task.

    Args:
        places: (k,) int64, where in the ticket these rows go, sorted by block.
        rows: (k,) int64, where in what its key loads each of them lies.
        keys: the loads that hold the rows, one for each run of `bounds`.
        bounds: (len(keys) + 1,) int64; run i is places[bounds[i] : bounds[i + 1]], all of keys[i].
        wanted: for each key the rows to read, in order; None for a whole block.
        gathers: whether it is of the fields that are only copied, else of those to decode.
    """

    ticket: Ticket
    places: Int
    rows: Int
    keys: tuple[LoadKey, ...]
    bounds: Int
    wanted: tuple[Scattered | None, ...]
    gathers: bool

    def runs(self) -> Iterator[tuple[LoadKey, Int, Int]]:
        """(load, places, rows in what was loaded) for each load that the slice needs."""
        for i, key in enumerate(self.keys):
            run = slice(self.bounds[i], self.bounds[i + 1])
            yield key, self.places[run], self.rows[run]


@dataclass(frozen=True, slots=True)
class Cutting:
    """How tickets are cut.

    Args:
        threads: that share the work.
        decodes: whether there are fields that take long to decode, a few rows a slice.
        gathers: whether there are fields that are copied, all rows at once.
    """

    threads: int
    decodes: bool
    gathers: bool


def kinds(cutting: Cutting) -> tuple[bool, ...]:
    """Of each kind of slice that a ticket is cut into, whether it gathers."""
    if not cutting.decodes:
        return (True,)
    return (False, True) if cutting.gathers else (False,)


def cut(ticket: Ticket, cutting: Cutting) -> list[Slice]:
    """The slices of a ticket: of 4 to 64 rows to decode, and one of all rows to gather.

    Rows are grouped by block and not by place: a slice then waits for few loads, and a block whose
    last rows are out is free while the ticket still waits for others.
    """
    n = len(ticket)
    if n == 0:
        return []
    cut_by = _scattered if ticket.by_record else _by_block
    order = np.lexsort((ticket.rows, ticket.blocks)) if ticket.by_record else _grouped(ticket)
    if not cutting.decodes:
        return [cut_by(ticket, order, range(n), n, gathers=True)]
    size = min(max(-(-n // max(1, 2 * cutting.threads)), SLICE_ROWS.start), SLICE_ROWS.stop - 1)
    pieces = [
        cut_by(ticket, order, range(i, min(i + size, n)), size, gathers=False)
        for i in range(0, n, size)
    ]
    if cutting.gathers:
        pieces.append(cut_by(ticket, order, range(n), size, gathers=True))
    return pieces


def _grouped(ticket: Ticket) -> Int:
    """Its places by block, and by row in each: memory is read forwards. First come the blocks whose
    rows stand first: in window order these are the old ones, and finishing them makes room for the
    new."""
    by_row = _sorted(ticket.rows)
    order = by_row[_sorted(ticket.blocks[by_row])]
    grouped = ticket.blocks[order]
    begins = np.r_[True, grouped[1:] != grouped[:-1]]
    starts, group = np.flatnonzero(begins), np.cumsum(begins) - 1
    first = np.minimum.reduceat(order, starts)[group]
    return order[_sorted(first)]


def _sorted(keys: Int) -> Int:
    """The stable order of keys, at least one of them."""
    least = keys.min()
    # NumPy sorts 16-bit integers by digits, and wider ones by comparison, several times slower.
    if keys.max() - least <= np.iinfo(np.uint16).max:
        return np.argsort((keys - least).astype(np.uint16), kind="stable")
    return np.argsort(keys, kind="stable")


def _by_block(ticket: Ticket, order: Int, part: range, size: int, gathers: bool) -> Slice:
    """A part of the order, which loads whole blocks."""
    places = order[part.start : part.stop]
    blocks, rows = ticket.blocks[places], ticket.rows[places]
    edges = np.r_[np.flatnonzero(np.r_[True, blocks[1:] != blocks[:-1]]), len(places)]
    keys = tuple(LoadKey(b) for b in blocks[edges[:-1]].tolist())
    return Slice(ticket, places, rows, keys, edges, (None,) * len(keys), gathers)


def _scattered(ticket: Ticket, order: Int, part: range, size: int, gathers: bool) -> Slice:
    """A part of the order that begins with a load: each reads `size` rows in order, whichever
    slices ask for them."""
    starts = range(part.start, part.stop, size)
    wanted = [order[a : a + size] for a in starts]
    return Slice(
        ticket,
        places=order[part.start : part.stop],
        rows=np.concatenate([np.arange(len(places), dtype=np.int64) for places in wanted]),
        keys=tuple(LoadKey(-1, ticket.step, a // size) for a in starts),
        bounds=np.r_[np.array(starts, np.int64) - part.start, len(part)],
        wanted=tuple(Scattered(ticket.blocks[p], ticket.rows[p]) for p in wanted),
        gathers=gathers,
    )
