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
from forebay.kernels.ragged import find_rows

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

    def widths(self, lengths: Int, firsts: Int) -> Int:
        """(parts,) int64, L of each batch. `lengths` is (n,) by place, without what is cut, and
        `firsts` the first place of each batch."""
        if self.length is not None:
            longest = np.full(len(firsts), self.length)
        else:
            longest = np.maximum.reduceat(lengths, firsts)
        return -(-longest // self.multiple_of) * self.multiple_of


def pad(field: Field, spec: Pad, chosen: Selection, parts: tuple[Part, ...], slot: Slot) -> int:
    """Fills slot.padded and slot.lengths of the field; returns the bytes that they take.

    Nulls are samples of no elements.
    """
    size = field.element.itemsize
    found = find_rows("pad", _blocks(field, chosen), chosen.which, chosen.rows)
    if spec.length is not None:
        found.shorten(spec.length)
    lengths = np.zeros(slot.n, np.int64)
    lengths[chosen.places] = found.lengths
    firsts, stops = np.array([(part.first, part.stop) for part in parts], np.int64).T
    widths, counts = spec.widths(lengths, firsts), stops - firsts
    room = -(-counts * widths * size // APART) * APART // size
    begins = np.cumsum(room) - room
    # Of few sizes, so that memory given back fits what is taken next.
    flat = slot.take(rounded(max(1, int(room.sum())) * size)).view(field.element)
    wide = np.repeat(widths, counts)
    starts = np.repeat(begins - firsts * widths, counts) + np.arange(slot.n) * wide
    filler, places = spec.filler(field.dtype), chosen.places
    if len(chosen) < slot.n:
        flat[:] = filler
    code = found.pad_to(flat, starts[places], wide[places], fill=filler, left=spec.side == "left")
    assert code < 0, "spans were laid out in this very memory"
    edges = zip(begins.tolist(), counts.tolist(), widths.tolist(), strict=True)
    slot.padded[field.name] = [flat[b : b + n * w].reshape(n, w) for b, n, w in edges]
    slot.lengths[field.name] = lengths
    return int(flat.nbytes + lengths.nbytes)


def pad_more(
    field: Field, spec: Pad, chosen: Selection, parts: tuple[Part, ...], slot: Slot
) -> int:
    """As `pad` for some places of a slot that is padded already: other samples take them. A batch
    that one of them is too long for gets a wider array."""
    taken = 0
    firsts = np.array([part.first for part in parts])
    for column, rows, places in chosen.runs(field.name):
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            part = int(np.searchsorted(firsts, place, side="right")) - 1
            start, length = int(column.starts[row]), int(column.lengths[row])
            if spec.length is not None:
                length = min(length, spec.length)
            width = int(spec.widths(np.array([length]), np.array([0]))[0])
            taken += _widen(field, spec, slot, part, width)
            line = slot.padded[field.name][part][place - int(firsts[part])]
            line[:] = spec.filler(field.dtype)
            at = len(line) - length if spec.side == "left" else 0
            line[at : at + length] = column.values[start : start + length]
            slot.lengths[field.name][place] = length
    return taken


def _widen(field: Field, spec: Pad, slot: Slot, part: int, width: int) -> int:
    """Makes a batch's array at least so wide; returns the bytes that it took."""
    narrow = slot.padded[field.name][part]
    count, had = narrow.shape
    if width <= had:
        return 0
    size: int = count * width * field.element.itemsize
    flat = slot.take(rounded(max(1, size)))[:size].view(field.element)
    wide = flat.reshape(count, width)
    wide[:] = spec.filler(field.dtype)
    (wide[:, width - had :] if spec.side == "left" else wide[:, :had])[:] = narrow
    slot.padded[field.name][part] = wide
    return size


def _blocks(field: Field, chosen: Selection) -> RaggedBlocks:
    columns = chosen.columns(field.name)
    ragged = [(c.values, c.starts, c.lengths) for c in columns if isinstance(c, VarColumn)]
    if len(ragged) < len(columns):
        other = next(type(c).__name__ for c in columns if not isinstance(c, VarColumn))
        raise TypeError(f"field {field.name!r} is ragged but came as {other}")
    return RaggedBlocks.of(ragged) if ragged else RaggedBlocks(field.element)
