"""Columns of records in memory: the form in which blocks leave and enter every format.

A reader hands out columns that view the block's own buffers; nothing is copied until a row is
taken. `valid` is None where no value is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.formats.errors import ShardError
from forebay.formats.record import Field, Schema

Valid = NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True, eq=False)
class FixedColumn:
    """Values of a fixed field: `values` is (rows, *shape) of the field's dtype.

    Each row is contiguous. Rows of 1 kB or more may lie apart: they view the bytes of a block. So
    may scalars, which then lie side by side with those of other columns.
    """

    values: NDArray[Any]
    valid: Valid = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class VarColumn:
    """Values of a text, bytes, image or ragged field.

    Value i is `values[starts[i] : starts[i] + lengths[i]]`, counted in elements. `values` is
    (elements,) of uint8 for text, bytes and images, of the field's dtype for ragged ones; starts
    and lengths are (rows,) int64. Between values anything may lie, such as the frames of records.
    """

    values: NDArray[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    valid: Valid = None

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def view(self, i: int) -> NDArray[Any]:
        """Value i without a copy, alive as long as its block."""
        start = int(self.starts[i])
        return self.values[start : start + int(self.lengths[i])]


@dataclass(frozen=True, slots=True, eq=False)
class ObjectColumn:
    """Values of a foreign field that has no kind of ours, as Python objects."""

    values: Sequence[Any]
    valid: Valid = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return 64 * len(self.values)


Column = FixedColumn | VarColumn | ObjectColumn


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Block:
    """Some rows of a dataset as columns, all of the same length.

    Args:
        nbytes: bytes of memory that the block keeps alive.
        unchecked: rows whose bytes no checksum covers (foreign files).
        damaged: rows that cannot be given, ascending, and why; their columns hold zeros and
            values of no length.
    """

    rows: int
    columns: Mapping[str, Column]
    nbytes: int
    unchecked: int = 0
    damaged: Mapping[int, ShardError] = field(default_factory=dict)


def value_at(field: Field, column: Column, i: int) -> Any:
    """Row i of a column as a Python value of its own, sharing no memory with the block.

    bytes for images and bytes, str for text, int/float/bool for scalars, an ndarray for shaped and
    ragged fields, None for nulls.
    """
    if column.valid is not None and not column.valid[i]:
        return None
    if isinstance(column, ObjectColumn):
        return column.values[i]
    if isinstance(column, FixedColumn):
        value = column.values[i]
        return value.copy() if field.shape else value.item()
    view = column.view(i)
    if field.kind == "text":
        return str(view.data, "utf-8") if view.size else ""
    if field.kind == "ragged":
        return view.copy()
    return view.tobytes()


def row_at(schema: Schema, block: Block, i: int) -> tuple[Any, ...]:
    """Row i of a block as Python values, in the schema's order."""
    return tuple(value_at(f, block.columns[f.name], i) for f in schema)
