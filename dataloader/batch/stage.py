"""The batch stage: declares what a slot holds, and seals a finished slot into a batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from forebay.dataloader.flow.info import BatchInfo
from forebay.dataloader.flow.slot import DenseField, Slot, SlotSpec
from forebay.dataloader.flow.ticket import Ticket
from forebay.formats.record import Schema


class Decoded(Protocol):
    """What an encoded field becomes: one tensor a sample.

    `shape` is as it lies in memory, `stored` NumPy's name of the dtype there; the tensor is of
    `dtype` and `layout`.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def stored(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def layout(self) -> str: ...


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
        padded: fields that are padded to the longest of their batch.
        as_dict: whether a batch is a dict of fields, or a list of them in order.
        list_bytes: estimated bytes of one sample's fields of differing size.
    """

    def __init__(
        self,
        schema: Schema,
        decoded: Mapping[str, Decoded],
        padded: Collection[str],
        as_dict: bool,
        list_bytes: int,
    ) -> None:
        self._schema = schema
        self._decoded = dict(decoded)
        self._padded = tuple(padded)
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
                dense.append(DenseField(field.name, made.shape, made.stored))
            elif field.kind == "fixed":
                dense.append(DenseField(field.name, field.shape, field.dtype))
            elif field.name not in self._padded:
                lists.append(field.name)
        varying = self._list_bytes if lists or self._padded else 0
        return SlotSpec(tuple(dense), tuple(lists), self._padded, varying)

    def run(self, ticket: Ticket, part: int, slot: Slot) -> Sealed:
        step, first, stop, n_global = ticket.parts[part]
        n, places = stop - first, slice(first, stop)
        values = [self._value(field.name, slot, part, places) for field in self._schema]
        batch = dict(zip(self._schema.names, values, strict=True)) if self._as_dict else values
        info = BatchInfo(
            epoch=ticket.epoch,
            step=step,
            positions=ticket.positions[places],
            n=n,
            n_global=n_global,
            weight=n / n_global if n_global else 0.0,
            lengths={name: lengths[places] for name, lengths in slot.lengths.items()},
        )
        return Sealed(batch, info)

    def close(self) -> None:
        pass

    def _value(self, name: str, slot: Slot, part: int, places: slice) -> Any:
        if name in slot.arrays:
            values = torch.from_numpy(slot.arrays[name][places])
            made = self._decoded.get(name)
            return values if made is None else _seen(values, made)
        if name in slot.padded:
            return torch.from_numpy(slot.padded[name][part])
        items = slot.lists[name][places]
        if self._schema[name].kind in ("text", "bytes", "image"):
            return items
        return [torch.from_numpy(v) if isinstance(v, np.ndarray) else v for v in items]


def _seen(values: torch.Tensor, made: Decoded) -> torch.Tensor:
    """The values in the dtype and layout asked for, of the same memory."""
    if made.dtype == "bfloat16":
        values = values.view(torch.bfloat16)
    return values.permute(0, 3, 1, 2) if made.layout == "channels_last" else values
