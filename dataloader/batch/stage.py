"""The batch stage: declares what a slot holds, and seals a finished slot into a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from forebay.dataloader.flow.info import BatchInfo
from forebay.dataloader.flow.slot import DenseField, Slot, SlotSpec
from forebay.dataloader.flow.ticket import Ticket
from forebay.formats.record import Schema


class Decoded(Protocol):
    """What an encoded field becomes: one tensor of this shape and dtype a sample."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Sealed:
    """A batch as the consumer gets it, and what is told about it."""

    batch: Any
    info: BatchInfo


class BatchStage:
    """Seals slots of a schema. See `flow.stage.Batch`.

    Args:
        schema: the fields to deliver, in order.
        decoded: encoded fields that become tensors, by name.
        as_dict: whether a batch is a dict of fields, or a list of them in order.
        list_bytes: estimated bytes of one sample's fields of differing size.
    """

    def __init__(
        self, schema: Schema, decoded: Mapping[str, Decoded], as_dict: bool, list_bytes: int
    ) -> None:
        self._schema = schema
        self._decoded = dict(decoded)
        self._as_dict = as_dict
        self._list_bytes = list_bytes

    def open(self) -> None:
        pass

    def declare(self) -> SlotSpec:
        dense: list[DenseField] = []
        lists: list[str] = []
        for field in self._schema:
            made = self._decoded.get(field.name)
            if made is not None:
                dense.append(DenseField(field.name, made.shape, made.dtype))
            elif field.kind == "fixed":
                dense.append(DenseField(field.name, field.shape, field.dtype))
            else:
                lists.append(field.name)
        return SlotSpec(tuple(dense), tuple(lists), self._list_bytes if lists else 0)

    def run(self, ticket: Ticket, slot: Slot) -> Sealed:
        values = [self._value(field.name, slot) for field in self._schema]
        batch = dict(zip(self._schema.names, values, strict=True)) if self._as_dict else values
        info = BatchInfo(
            epoch=ticket.epoch,
            step=ticket.step,
            positions=ticket.positions,
            n=len(ticket),
            n_global=ticket.n_global,
            weight=len(ticket) / ticket.n_global if ticket.n_global else 0.0,
        )
        return Sealed(batch, info)

    def close(self) -> None:
        pass

    def _value(self, name: str, slot: Slot) -> Any:
        if name in slot.arrays:
            return torch.from_numpy(slot.arrays[name])
        values = slot.lists[name]
        return [torch.from_numpy(v) if isinstance(v, np.ndarray) else v for v in values]
