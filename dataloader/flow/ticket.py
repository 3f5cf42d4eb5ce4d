"""Tickets and slices: what moves through the flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SLICE_ROWS = range(4, 65)


class LoadKey(NamedTuple):
    """What one load makes resident.

    A whole block, which stays for several tickets, has step -1; rows read for one slice alone
    carry the ticket's step and the slice's number.
    """

    block: int
    step: int = -1
    part: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One batch on its way: which samples it holds, in order. Pure, made by the plan.

    Args:
        positions: (n,) int64, places in the epoch's global order.
        blocks: (n,) int64, the block that holds each sample's record.
        rows: (n,) int64, the record's row in its block.
        n_global: samples of this step over all ranks.
        last_use: blocks that no later ticket of this run needs.
        spare: blocks that later tickets need again, but not soon.
        by_record: whether its rows are read one by one, without keeping their blocks.
    """

    epoch: int
    step: int
    positions: NDArray[np.int64]
    blocks: NDArray[np.int64]
    rows: NDArray[np.int64]
    n_global: int
    last_use: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()
    by_record: bool = False

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Some rows of a ticket: one thread's task.

    Args:
        places: (k,) int64, where in the batch these rows go, sorted by block.
        keys: the loads that hold the rows, one for each run of `bounds`.
        bounds: (len(keys) + 1,) int64; run i is places[bounds[i] : bounds[i + 1]], all of keys[i].
    """

    ticket: Ticket
    places: NDArray[np.int64]
    keys: tuple[LoadKey, ...]
    bounds: NDArray[np.int64]

    def runs(self) -> Iterator[tuple[LoadKey, NDArray[np.int64]]]:
        """(load, places) for each load that the slice needs."""
        for i, key in enumerate(self.keys):
            yield key, self.places[self.bounds[i] : self.bounds[i + 1]]

    def wanted(self, i: int) -> NDArray[np.int64] | None:
        """The rows of its block that load i reads; None for the whole block."""
        if self.keys[i].step < 0:
            return None
        return self.ticket.rows[self.places[self.bounds[i] : self.bounds[i + 1]]]

    def rows_in(self, key: LoadKey, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where in what `key` loaded the rows of these places lie."""
        if key.step < 0:
            return self.ticket.rows[places]
        return np.arange(len(places))


def cut(ticket: Ticket, threads: int) -> list[Slice]:
    """The slices of a ticket, of 4 to 64 rows, each touching as few blocks as can be.

    Rows are grouped by block and not by place: a slice then waits for few loads, and a block whose
    last rows are out is free while the ticket still waits for others.
    """
    n = len(ticket)
    if n == 0:
        return []
    size = min(max(-(-n // max(1, 4 * threads)), SLICE_ROWS.start), SLICE_ROWS.stop - 1)
    order = np.argsort(ticket.blocks, kind="stable")
    # First come the blocks whose rows stand first in the batch: in window order these are the old
    # ones, and finishing them makes room for the new.
    grouped = ticket.blocks[order]
    begins = np.r_[True, grouped[1:] != grouped[:-1]]
    starts, group = np.flatnonzero(begins), np.cumsum(begins) - 1
    first = np.minimum.reduceat(order, starts)[group]
    order = order[np.argsort(first, kind="stable")]
    return [_slice(ticket, order[i : i + size], i // size) for i in range(0, n, size)]


def _slice(ticket: Ticket, places: NDArray[np.int64], part: int) -> Slice:
    blocks = ticket.blocks[places]
    edges = np.flatnonzero(np.r_[True, blocks[1:] != blocks[:-1]])
    step, part = (ticket.step, part) if ticket.by_record else (-1, -1)
    keys = tuple(LoadKey(int(b), step, part) for b in blocks[edges])
    return Slice(ticket, places, keys, np.r_[edges, len(places)])
