"""What becomes of samples that cannot be delivered, where a loader goes on without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.fault import Fault
from forebay.dataloader.flow.slot import Slot
from forebay.dataloader.flow.stage import Decode, Fetch, Substitutes
from forebay.dataloader.flow.ticket import Cutting, LoadKey, Part, Slice, Ticket, kinds

OnError = Literal["raise", "skip", "replace"]


class Mender:
    """Makes tickets with faults whole again. Works in the thread that seals.

    Args:
        substitutes: gives rows that may stand in; None leaves samples out instead.
        lease: that pays for blocks while they are looked at. As an image in a decoder's hands they
            are charged but cannot wait.
    """

    def __init__(
        self,
        fetch: Fetch,
        decode: Decode,
        cutting: Cutting,
        lease: Budget,
        substitutes: Substitutes | None,
    ) -> None:
        self._fetch, self._decode = fetch, decode
        self._kinds = kinds(cutting)
        self._lease = lease
        self._substitutes = substitutes

    def mend(self, ticket: Ticket, slot: Slot, faults: Mapping[int, Fault]) -> Ticket:
        """The ticket of what can be delivered, in the same slot: other rows stand in for faulty
        ones, or the places behind them move up. Its parts say what happened."""
        told = {place: self._mended(ticket, slot, faults[place]) for place in sorted(faults)}
        return _without(ticket, slot, told)

    def _mended(self, ticket: Ticket, slot: Slot, fault: Fault) -> Fault:
        if self._substitutes is None:
            return fault
        for block in self._substitutes.blocks(fault.block):
            row = self._first_good(ticket, slot, fault, block)
            if row is not None:
                return replace(fault, replacement=(block, row))
        return fault

    def _first_good(self, ticket: Ticket, slot: Slot, fault: Fault, block: int) -> int | None:
        """The first row of the block that stands in, written to its place; None: there is none."""
        assert self._substitutes is not None, "asked for by whoever has them"
        key = LoadKey(block)
        try:
            stored, memory = self._fetch.cost(key, None)
        except self._fetch.damage:
            return None
        self._lease.charge("fetch", stored)
        self._lease.charge("blocks", memory)
        try:
            loaded, _ = self._fetch.run(key, None)
            for row in self._substitutes.rows(ticket.epoch, fault.position, block):
                if (block, row) == (fault.block, fault.row):
                    continue
                if self._written(ticket, slot, fault.place, key, loaded, row):
                    return row
        except self._fetch.damage:
            return None
        finally:
            self._lease.release("fetch", stored)
            self._lease.release("blocks", memory)
        return None

    def _written(
        self, ticket: Ticket, slot: Slot, place: int, key: LoadKey, loaded: Any, row: int
    ) -> bool:
        """Whether the row's sample is good; then it stands at the place."""
        for gathers in self._kinds:
            piece = Slice(
                ticket,
                places=np.array([place], np.int64),
                rows=np.array([row], np.int64),
                keys=(key,),
                bounds=np.array([0, 1], np.int64),
                wanted=(None,),
                gathers=gathers,
            )
            if self._decode.run(piece, {key: loaded}, slot):
                return False
        return True


def _without(ticket: Ticket, slot: Slot, told: Mapping[int, Fault]) -> Ticket:
    """The ticket and its slot without the places whose fault has no replacement."""
    positions = ticket.positions.copy()
    blocks, rows = ticket.blocks.copy(), ticket.rows.copy()
    parts: list[Part] = []
    for number, part in enumerate(ticket.parts):
        faults = [told[p] for p in range(part.first, part.stop) if p in told]
        for fault in faults:
            if fault.replacement is not None:
                blocks[fault.place], rows[fault.place] = fault.replacement
        lost = [f.place for f in faults if f.replacement is None]
        if lost:
            kept = np.setdiff1d(np.arange(part.first, part.stop), lost)
            for array in (positions, blocks, rows):
                array[part.first : part.first + len(kept)] = array[kept]
            _move_up(slot, number, part, kept.tolist())
        counted = part.stop - part.repeats
        parts.append(
            part._replace(
                stop=part.stop - len(lost),
                repeats=part.repeats - sum(place >= counted for place in lost),
                faults=tuple(replace(f, place=f.place - part.first) for f in faults),
            )
        )
    return replace(ticket, parts=tuple(parts), positions=positions, blocks=blocks, rows=rows)


def _move_up(slot: Slot, number: int, part: Part, kept: list[int]) -> None:
    """Moves the places that are kept to the front of the part, row by row: no memory is taken."""
    for place, source in enumerate(kept, part.first):
        if place != source:
            for array in slot.arrays.values():
                array[place] = array[source]
            for values in slot.lists.values():
                values[place] = values[source]
            for lengths in slot.lengths.values():
                lengths[place] = lengths[source]
            for batches in slot.padded.values():
                batches[number][place - part.first] = batches[number][source - part.first]
    for batches in slot.padded.values():
        batches[number] = batches[number][: len(kept)]
