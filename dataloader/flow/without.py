"""Tickets without the samples that are not delivered: those behind them move up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.fault import Fault
from forebay.dataloader.flow.slot import Slot
from forebay.dataloader.flow.ticket import Part, Ticket

NARROW = 1024
"""Rows of at most so many bytes are moved all at once: what that copies for a while is little."""


def without(ticket: Ticket, slot: Slot, told: Mapping[int, Fault]) -> Ticket:
    """The ticket and its slot without the places that the slot's filter left out, and those whose
    fault has no replacement. Its parts tell of the faults."""
    positions = ticket.positions.copy()
    blocks, rows = ticket.blocks.copy(), ticket.rows.copy()
    parts: list[Part] = []
    for number, part in enumerate(ticket.parts):
        places = range(part.first, part.stop)
        faults = [told[p] for p in places if p in told]
        for fault in faults:
            if fault.replacement is not None:
                blocks[fault.place], rows[fault.place] = fault.replacement
        lost = {f.place for f in faults if f.replacement is None}
        lost.update(p for p in slot.left_out if p in places)
        if lost:
            kept = np.setdiff1d(np.arange(part.first, part.stop), list(lost))
            for array in (positions, blocks, rows):
                array[part.first : part.first + len(kept)] = array[kept]
            _move_up(slot, number, part, kept)
        counted = part.stop - part.repeats
        parts.append(
            part._replace(
                stop=part.stop - len(lost),
                repeats=part.repeats - sum(place >= counted for place in lost),
                faults=tuple(replace(f, place=f.place - part.first) for f in faults),
            )
        )
    slot.left_out.clear()
    return replace(ticket, parts=tuple(parts), positions=positions, blocks=blocks, rows=rows)


def _move_up(slot: Slot, number: int, part: Part, kept: NDArray[np.int64]) -> None:
    """Moves the places that are kept to the front of the part."""
    front = slice(part.first, part.first + len(kept))
    for lengths in slot.lengths.values():
        lengths[front] = lengths[kept]
    narrow = [a for a in slot.arrays.values() if a[:1].nbytes <= NARROW]
    for array in narrow:
        array[front] = array[kept]
    lists = [*slot.lists.values()] + ([] if slot.samples is None else [slot.samples])
    # Row by row, so that no memory is taken.
    wide = [a for a in slot.arrays.values() if a[:1].nbytes > NARROW]
    for place, source in enumerate(kept.tolist(), part.first):
        if place != source:
            for array in wide:
                array[place] = array[source]
            for values in lists:
                values[place] = values[source]
            for batches in slot.padded.values():
                batches[number][place - part.first] = batches[number][source - part.first]
    for batches in slot.padded.values():
        batches[number] = batches[number][: len(kept)]
