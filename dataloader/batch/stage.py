"""The batch stage: declares what a slot holds, and seals a finished slot into a batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

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
class Shared:
    """What all batches of a loader have in common.

    Args:
        ranks: that share each batch.
        bounds: of a mixture's datasets, (datasets + 1,) the first block of each, and all.
    """

    ranks: int = 1
    bounds: NDArray[np.int64] | None = None


ALONE = Shared()


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """What is told about the batches of one ticket, made when it is asked for: a loop asks seldom,
    and for small batches it would be most of their cost. It holds none of their memory.

    Args:
        lengths: by padded field, (n,) int64, as in `Slot`.
    """

    ticket: Ticket
    lengths: Mapping[str, NDArray[np.int64]]
    shared: Shared

    def info(self, part: int) -> BatchInfo:
        """About the batch that is part number `part` of the ticket."""
        step, first, stop, repeats, n_global, after, faults = self.ticket.parts[part]
        n, places = stop - first - repeats, slice(first, stop)
        return BatchInfo(
            epoch=self.ticket.epoch,
            step=step,
            positions=self.ticket.positions[places],
            n=n,
            n_global=n_global,
            weight=n * self.shared.ranks / n_global if n_global else 0.0,
            after=after,
            faults=faults,
            sources=self._sources(places),
            lengths={name: lengths[places] for name, lengths in self.lengths.items()},
        )

    def _sources(self, places: slice) -> NDArray[np.int64] | None:
        if self.shared.bounds is None:
            return None
        blocks = self.ticket.blocks[places]
        found: NDArray[np.int64] = np.searchsorted(self.shared.bounds, blocks, side="right") - 1
        return found


class Sealed(NamedTuple):
    """A batch as the consumer gets it: `n` samples, part number `part` of the ticket told about."""

    batch: Any
    n: int
    part: int
    about: About


class BatchStage:
    """Seals slots of a schema. See `flow.stage.Batch`.

    Args:
        schema: the fields to deliver, in order.
        decoded: encoded fields that become tensors, by name.
        padded: fields that are padded to the longest of their batch.
        as_dict: whether a batch is a dict of fields, or a list of them in order.
        list_bytes: estimated bytes of one sample's fields of differing size.
        shared: by all batches.
        kept: whether fields that are padded are kept as they are too, for user code to see.
    """

    def __init__(
        self,
        schema: Schema,
        decoded: Mapping[str, Decoded],
        padded: Collection[str],
        as_dict: bool,
        list_bytes: int,
        shared: Shared = ALONE,
        kept: bool = False,
    ) -> None:
        self._schema = schema
        self._decoded = dict(decoded)
        self._padded = tuple(padded)
        self._as_dict = as_dict
        self._shared = shared
        self._spec = self._declared(list_bytes, kept)

    def open(self) -> None:
        pass

    def declare(self) -> SlotSpec:
        return self._spec

    def run(self, ticket: Ticket, count: int, slot: Slot) -> list[Sealed]:
        parts = [slice(part.first, part.stop) for part in ticket.parts[:count]]
        names = self._schema.names
        columns = [self._values(name, slot, parts) for name in names]
        about = self.about(ticket, slot)
        made = zip(*columns, strict=True) if columns else [()] * len(parts)
        return [
            Sealed(
                dict(zip(names, values, strict=True)) if self._as_dict else list(values),
                places.stop - places.start,
                part,
                about,
            )
            for part, (places, values) in enumerate(zip(parts, made, strict=True))
        ]

    def about(self, ticket: Ticket, slot: Slot) -> About:
        """What is told about the batches of a ticket."""
        return About(ticket, slot.lengths, self._shared)

    def close(self) -> None:
        pass

    def _declared(self, list_bytes: int, kept: bool) -> SlotSpec:
        dense: list[DenseField] = []
        lists: list[str] = []
        for field in self._schema:
            made = self._decoded.get(field.name)
            if made is not None:
                dense.append(DenseField(field.name, made.shape, made.stored))
            elif field.kind == "fixed":
                dense.append(DenseField(field.name, field.shape, field.dtype))
            elif kept or field.name not in self._padded:
                lists.append(field.name)
        varying = list_bytes if lists or self._padded else 0
        return SlotSpec(tuple(dense), tuple(lists), self._padded, varying)

    def _values(self, name: str, slot: Slot, parts: Sequence[slice]) -> list[Any]:
        """The field's value in each batch."""
        if name in slot.arrays:
            whole = slot.arrays[name]
            values = [torch.from_numpy(whole[places]) for places in parts]
            made = self._decoded.get(name)
            return values if made is None else [seen(v, made) for v in values]
        if name in slot.padded:
            return [torch.from_numpy(padded) for padded in slot.padded[name][: len(parts)]]
        batches = [slot.lists[name][places] for places in parts]
        if self._schema[name].kind in ("text", "bytes", "image"):
            return batches
        return [
            [torch.from_numpy(v) if isinstance(v, np.ndarray) else v for v in items]
            for items in batches
        ]


def seen(values: torch.Tensor, made: Decoded) -> torch.Tensor:
    """A batch's values in the dtype and layout asked for, of the same memory."""
    if made.dtype == "bfloat16":
        values = values.view(torch.bfloat16)
    return values.permute(0, 3, 1, 2) if made.layout == "channels_last" else values
