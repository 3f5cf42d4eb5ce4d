"""The decode stage: rows of resident blocks become samples in their slot."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.columns import collect, gather, is_dense, variable_rows
from forebay.dataloader.decode.draws import field_key, uniforms
from forebay.dataloader.decode.image.choice import image_decoder
from forebay.dataloader.decode.image.decoder import ImageDecoder
from forebay.dataloader.decode.pad import Pad, pad, pad_more
from forebay.dataloader.decode.selection import Bad, Selection, select
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.decode.together import by_width
from forebay.dataloader.decode.user_code import Caller
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.errors import DecodeError
from forebay.dataloader.flow.fault import Fault, fault_at
from forebay.dataloader.flow.learned import Learned
from forebay.dataloader.flow.scratch import Scratch
from forebay.dataloader.flow.slot import Slot
from forebay.dataloader.flow.ticket import LoadKey, Slice, Ticket
from forebay.formats.column import Block, VarColumn
from forebay.formats.record import Field, Schema
from forebay.kernels.ragged import RaggedRows

Int = NDArray[np.int64]
OBJECT_BYTES = 100
"""Of a Python value in a list, besides its content."""


class UserPart(NamedTuple):
    """User code in a run.

    Args:
        caller: calls it.
        learned: is told how large it makes samples.
    """

    caller: Caller
    learned: Learned


class DecodeStage:
    """Gathers plain fields and decodes encoded ones. See `flow.stage.Decode`.

    Args:
        schema: the fields to deliver.
        images: what to make of encoded fields, by name.
        pads: how to pad ragged fields, by name; the others become lists.
        seed: of the samples' random numbers.
        budget: that pays for images while they are decoded, and for what varies in size.
        user: code of the user that sees or makes the samples; None where there is none.
    """

    def __init__(
        self,
        schema: Schema,
        images: Mapping[str, Image],
        pads: Mapping[str, Pad],
        seed: int,
        budget: Budget,
        user: UserPart | None = None,
    ) -> None:
        self._encoded = [f for f in schema if f.name in images]
        self._together, self._plain = by_width([f for f in schema if f.name not in images])
        self._images = dict(images)
        self._pads = dict(pads)
        self._seed = seed
        self._budget = budget
        self._user = user
        self._scratch = Scratch(budget, "decode")
        self._lock = threading.RLock()
        self._decoders: dict[str, ImageDecoder] = {}

    def open(self) -> None:
        self._decoders = {
            name: image_decoder(spec, self._scratch) for name, spec in self._images.items()
        }

    def run(self, task: Slice, blocks: Mapping[LoadKey, Block], slot: Slot) -> list[Fault]:
        chosen, unread = select(task, blocks)
        ticket = task.ticket
        if self._user is not None:
            bad = self._seen(task, chosen, slot)
        elif task.gathers:
            bad = self._gather_all(chosen, ticket, slot)
        else:
            bad = self._decode_all(chosen, ticket, slot)
        faults = [
            *(fault_at(ticket, place, "fetch", cause) for place, cause in unread.items()),
            *(fault_at(ticket, place, "decode", cause) for place, cause in bad.items()),
        ]
        if self._user is not None and not task.gathers:
            faults += self._call(self._user, chosen, bad, ticket, slot)
        return faults

    def stop(self) -> None:
        if self._user is not None:
            self._user.caller.stop()

    def close(self) -> None:
        self._decoders.clear()
        self._scratch.close()

    def _gather_all(self, chosen: Selection, ticket: Ticket, slot: Slot) -> Bad:
        lists = self._find_lists(chosen, slot)
        bad: Bad = {}
        for several in self._together:
            bad |= several.gather(chosen, slot.arrays)
        for field in self._plain:
            if field.name in slot.lists:
                bad |= collect(field, chosen, lists[field.name], slot.lists[field.name])
            else:
                bad |= self._gather(field, chosen, ticket, slot)
        return bad

    def _decode_all(self, chosen: Selection, ticket: Ticket, slot: Slot) -> Bad:
        bad: Bad = {}
        for field in self._encoded:
            bad |= self._decode(field, chosen, ticket, slot)
        return bad

    def _seen(self, task: Slice, chosen: Selection, slot: Slot) -> Bad:
        """Fields where user code sees samples: all of some rows at once, as they are; only the
        paddings need the rows of a whole batch."""
        if not task.gathers:
            bad = self._gather_all(chosen, task.ticket, slot)
            return bad | self._decode_all(chosen, task.ticket, slot)
        for field in self._plain:
            if field.name in self._pads:
                self._gather(field, chosen, task.ticket, slot)
        return {}

    def _call(
        self, user: UserPart, chosen: Selection, bad: Bad, ticket: Ticket, slot: Slot
    ) -> list[Fault]:
        places = chosen.places
        if bad:
            places = places[~np.isin(places, list(bad))]
        made = user.caller.run(ticket, places, slot)
        user.learned.met(made.nbytes, made.samples)
        # Twice: as the samples that it made, and as the batch that these become.
        self._charge(slot, 2 * made.nbytes)
        with self._lock:
            slot.left_out |= made.left_out
        return made.faults

    def _gather(self, field: Field, chosen: Selection, ticket: Ticket, slot: Slot) -> Bad:
        if is_dense(field):
            return gather(field, chosen, slot.arrays[field.name])
        # Padded already: these are records that stand in for others.
        fill = pad_more if field.name in slot.padded else pad
        self._charge(slot, fill(field, self._pads[field.name], chosen, ticket.parts, slot))
        return {}

    def _find_lists(self, chosen: Selection, slot: Slot) -> dict[str, RaggedRows | None]:
        """Where the values of list fields lie. Charges what they take beyond what was expected of
        the batch."""
        found = {f.name: variable_rows(f, chosen) for f in self._plain if f.name in slot.lists}
        nbytes = OBJECT_BYTES * len(chosen) * len(found)
        for rows in found.values():
            if rows is not None:
                nbytes += int(rows.lengths.sum()) * rows.dtype.itemsize
        self._charge(slot, nbytes)
        return found

    def _charge(self, slot: Slot, nbytes: int) -> None:
        with self._lock:
            slot.written += nbytes
            more = max(0, slot.written - slot.expected - slot.grown)
            slot.grown += more
            self._budget.charge("slots", more)

    def _decode(self, field: Field, chosen: Selection, ticket: Ticket, slot: Slot) -> Bad:
        spec = self._images[field.name]
        images, places, bad = _encoded(field, chosen)
        key = field_key(self._seed, ticket.epoch, field.name)
        draws = uniforms(key, ticket.positions[places], spec.draws).tolist()
        out = slot.arrays[field.name]
        return bad | self._decoders[field.name].decode(images, draws, out, places)


def _encoded(field: Field, chosen: Selection) -> tuple[list[memoryview], Int, Bad]:
    """The field's values, where they go, and the places that have none."""
    images: list[memoryview] = []
    filled: list[Int] = []
    bad: Bad = {}
    for column, rows, places in chosen.runs(field.name):
        if not isinstance(column, VarColumn):
            raise TypeError(f"field {field.name!r} holds no bytes: {type(column).__name__}")
        if column.valid is not None and not (valid := column.valid[rows]).all():
            error = DecodeError(f"field {field.name!r} is null, so there is no image")
            bad |= dict.fromkeys(places[~valid].tolist(), error)
            rows, places = rows[valid], places[valid]
        starts = column.starts[rows]
        stops = starts + column.lengths[rows]
        values = column.values.data
        images += [values[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
        filled.append(places)
    return images, np.concatenate(filled or [np.empty(0, np.int64)]), bad
