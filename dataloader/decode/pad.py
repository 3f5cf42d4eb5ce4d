"""Ragged fields as tensors: each batch padded to its longest sample."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.selection import Selection
from forebay.dataloader.flow.slot import Slot
from forebay.dataloader.flow.ticket import Part
from forebay.formats.block_memory import rounded
from forebay.formats.column import VarColumn
from forebay.formats.record import Field
from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.gather import ragged_lengths
from forebay.kernels.pad import pad_rows

Int = NDArray[np.int64]
APART = 64
"""Bytes on whose multiples the batches of a ticket begin."""


class Pad:
    """A ragged field as one tensor (N, L); `loader.batch_info.lengths` tells the true lengths.

    Args:
        value: that fills what a sample leaves free.
        length: L of every batch; samples that are longer keep their first `length` elements. None
            takes the longest sample of each batch.
        multiple_of: L is rounded up to a multiple of it.
        side: where the padding goes, "right" or "left".

    Raises:
        TypeError, ValueError: an argument is wrong; says which.
    """

    def __init__(
        self,
        value: float = 0,
        *,
        length: int | None = None,
        multiple_of: int = 1,
        side: Literal["right", "left"] = "right",
    ) -> None:
        for name, number in (("length", length), ("multiple_of", multiple_of)):
            if number is not None and (
                not isinstance(number, int) or isinstance(number, bool) or number < 1
            ):
                raise ValueError(f"Pad: {name} must be an int of at least 1, got {number!r}")
        if side not in ("right", "left"):
            raise ValueError(f"Pad: side must be 'right' or 'left', got {side!r}")
        if not isinstance(value, int | float):
            raise TypeError(f"Pad: value must be a number, got {value!r}")
        self.value, self.length, self.multiple_of, self.side = value, length, multiple_of, side

    def filler(self, dtype: str) -> Any:
        """The value as a scalar of the field's dtype.

        Raises:
            ValueError: the dtype does not hold it.
        """
        made = np.array([self.value]).astype(dtype)[0]
        if made != self.value and not (np.isnan(self.value) and np.isnan(made)):
            raise ValueError(f"Pad: value {self.value!r} is not a number that {dtype} holds")
        return made

    def __repr__(self) -> str:
        return (
            f"Pad({self.value!r}, length={self.length!r}, multiple_of={self.multiple_of}, "
            f"side={self.side!r})"
        )

    def widths(self, lengths: Int, parts: tuple[Part, ...]) -> Int:
        """(parts,) int64, L of each batch. `lengths` is (n,) by place, without what is cut."""
        firsts = np.array([part.first for part in parts])
        longest = np.maximum.reduceat(lengths, firsts)
        if self.length is not None:
            longest = np.full(len(parts), self.length)
        return -(-longest // self.multiple_of) * self.multiple_of


def pad(field: Field, spec: Pad, chosen: Selection, parts: tuple[Part, ...], slot: Slot) -> int:
    """Fills slot.padded and slot.lengths of the field; returns the bytes that they take.

    Nulls are samples of no elements.
    """
    dtype = field.element
    lengths = np.zeros(slot.n, np.int64)
    blocks = _blocks(field, spec, chosen)
    which = chosen.which
    if blocks is not None:
        lengths[chosen.places] = ragged_lengths(blocks, which, chosen.rows)
    widths = spec.widths(lengths, parts)
    sizes = np.array([part.stop - part.first for part in parts])
    room = -(-sizes * widths * dtype.itemsize // APART) * APART // dtype.itemsize
    begins = np.cumsum(room) - room
    # Of few sizes, so that memory given back fits what is taken next.
    total = rounded(max(1, int(room.sum())) * dtype.itemsize)
    flat = slot.take(total).view(dtype)
    filler = spec.filler(field.dtype)
    if len(chosen) < slot.n:
        flat[:] = filler
    if blocks is not None:
        starts: Int = np.repeat(begins - np.array([p.first for p in parts]) * widths, sizes)
        wide = np.repeat(widths, sizes)
        starts += np.arange(slot.n) * wide
        spans = starts[chosen.places], wide[chosen.places]
        pad_rows(blocks, which, chosen.rows, flat, spans, fill=filler, left=spec.side == "left")
    edges = zip(begins.tolist(), sizes.tolist(), widths.tolist(), strict=True)
    slot.padded[field.name] = [flat[b : b + n * w].reshape(n, w) for b, n, w in edges]
    slot.lengths[field.name] = lengths
    return int(flat.nbytes + lengths.nbytes)


def _blocks(field: Field, spec: Pad, chosen: Selection) -> RaggedBlocks | None:
    if not len(chosen):
        return None
    ragged: list[tuple[NDArray[Any], Int, Int]] = []
    for column in chosen.columns(field.name):
        if not isinstance(column, VarColumn):
            raise TypeError(f"field {field.name!r} is ragged but came as {type(column).__name__}")
        lengths = column.lengths
        if spec.length is not None:
            lengths = np.minimum(lengths, spec.length)
        ragged.append((column.values, column.starts, lengths))
    return RaggedBlocks.of(ragged)
