"""The decode stage: rows of resident blocks become samples in their slot."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.columns import Bad, collect, gather, is_dense
from forebay.dataloader.decode.draws import field_key, uniforms
from forebay.dataloader.decode.image.pillow import PillowDecoder
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.errors import DecodeError
from forebay.dataloader.flow.fault import Fault, fault_at
from forebay.dataloader.flow.scratch import Scratch
from forebay.dataloader.flow.slot import Slot
from forebay.dataloader.flow.ticket import LoadKey, Slice, Ticket
from forebay.formats.column import Block, Column, VarColumn
from forebay.formats.record import Field, Schema

Int = NDArray[np.int64]
OBJECT_BYTES = 100
"""Of a Python value in a list, besides its content."""


class FieldDecoder(Protocol):
    """Decodes one encoded value into the place given."""

    def decode(self, data: NDArray[np.uint8], u: list[float], out: NDArray[Any]) -> None: ...


class DecodeStage:
    """Gathers plain fields and decodes encoded ones. See `flow.stage.Decode`.

    Args:
        schema: the fields to deliver.
        specs: what to make of encoded fields, by name.
        seed: of the samples' random numbers.
        budget: that pays for images while they are decoded.
    """

    def __init__(
        self, schema: Schema, specs: Mapping[str, Image], seed: int, budget: Budget
    ) -> None:
        self._schema = schema
        self._specs = dict(specs)
        self._seed = seed
        self._budget = budget
        self._scratch = Scratch(budget, "decode")
        self._lock = threading.RLock()
        self._decoders: dict[str, FieldDecoder] = {}

    def open(self) -> None:
        self._decoders = {
            name: PillowDecoder(spec, self._scratch) for name, spec in self._specs.items()
        }

    def run(self, task: Slice, blocks: Mapping[LoadKey, Block], slot: Slot) -> list[Fault]:
        unread: Bad = {}
        bad: Bad = {}
        for key, places in task.runs():
            block = blocks.get(key)
            if block is None:
                continue
            rows = task.rows_in(key, places)
            if block.damaged:
                lost = [block.damaged.get(row) for row in rows.tolist()]
                unread |= {p: e for p, e in zip(places.tolist(), lost, strict=True) if e}
                good = np.array([error is None for error in lost])
                rows, places = rows[good], places[good]
            self._charge_lists(block, rows, slot)
            for field in self._schema:
                column = block.columns[field.name]
                bad |= self._field(field, column, task.ticket, rows, places, slot)
        return [
            *(fault_at(task.ticket, place, "fetch", cause) for place, cause in unread.items()),
            *(fault_at(task.ticket, place, "decode", cause) for place, cause in bad.items()),
        ]

    def close(self) -> None:
        self._decoders.clear()
        self._scratch.close()

    def _charge_lists(self, block: Block, rows: Int, slot: Slot) -> None:
        """Charges what the values of list fields take beyond what was expected of the batch."""
        if not slot.lists:
            return
        nbytes = 0
        for name in slot.lists:
            column = block.columns[name]
            if isinstance(column, VarColumn):
                nbytes += int(column.lengths[rows].sum()) * column.values.itemsize
            nbytes += OBJECT_BYTES * len(rows)
        with self._lock:
            slot.written += nbytes
            more = max(0, slot.written - slot.expected - slot.grown)
            slot.grown += more
            self._budget.charge("slots", more)

    def _field(
        self, field: Field, column: Column, ticket: Ticket, rows: Int, places: Int, slot: Slot
    ) -> Bad:
        decoder = self._decoders.get(field.name)
        if decoder is not None:
            return self._decode(field, decoder, column, ticket, rows, places, slot)
        if is_dense(field):
            return gather(field, column, rows, places, slot.arrays[field.name])
        return collect(field, column, rows, places, slot.lists[field.name])

    def _decode(
        self,
        field: Field,
        decoder: FieldDecoder,
        column: Column,
        ticket: Ticket,
        rows: Int,
        places: Int,
        slot: Slot,
    ) -> Bad:
        if not isinstance(column, VarColumn):
            raise TypeError(f"field {field.name!r} holds no bytes: {type(column).__name__}")
        count = self._specs[field.name].draws
        key = field_key(self._seed, ticket.epoch, field.name)
        drawn = uniforms(key, ticket.positions[places], count).tolist() if count else None
        out = slot.arrays[field.name]
        bad: Bad = {}
        for i, (row, place) in enumerate(zip(rows.tolist(), places.tolist(), strict=True)):
            try:
                if column.valid is not None and not column.valid[row]:
                    raise DecodeError(f"field {field.name!r} is null, so there is no image")
                decoder.decode(column.view(row), drawn[i] if drawn else [], out[place])
            except DecodeError as e:
                bad[place] = e
        return bad
