"""What a record layout is: columns to the bytes of records, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from forebay.formats.column import (
    Block,
    Column,
    FixedColumn,
    ObjectColumn,
    Valid,
    VarColumn,
)
from forebay.formats.errors import SchemaError
from forebay.formats.recordio.gather import Bytes, Offsets, copy_runs, windows
from forebay.kernels.align import aligned_empty

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from forebay.formats.record import Field, Schema


class RowErrors(ValueError):
    """Rows of what was parsed are not what the format allows.

    Args:
        rows: every row that one check found, counted from the first parsed, and what was wrong.
    """

    def __init__(self, rows: Mapping[int, str]) -> None:
        self.rows = rows
        super().__init__(rows)


def refuse(bad: NDArray[np.bool_], what: Callable[[int], str]) -> None:
    """Raises RowErrors where any row is `bad`; `what` says of a row what is wrong with it."""
    if bad.any():
        raise RowErrors({row: what(row) for row in np.flatnonzero(bad).tolist()})


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records to be written, not yet in one piece.

    Record i is `prefix[i]` followed by value i of each of `values`.

    Args:
        prefix: (rows, n) uint8.
        values: columns of uint8, each of the same rows; views of the caller's memory.
    """

    prefix: Bytes
    values: tuple[VarColumn, ...]

    @property
    def lengths(self) -> Offsets:
        """(rows,) bytes of each record."""
        lengths = np.full(len(self.prefix), self.prefix.shape[1], np.int64)
        for column in self.values:
            lengths += column.lengths
        return lengths

    def lay_into(self, out: Bytes, starts: Offsets) -> None:
        """Writes each record from its start in `out` on."""
        width = self.prefix.shape[1]
        if width and len(starts):
            windows(out, width)[starts] = self.prefix
        at = starts + width
        for column in self.values:
            copy_runs(column.values, column.starts, out, at, column.lengths)
            at = at + column.lengths


Take = Callable[[int], Bytes]
"""Gives a buffer of so many bytes, aligned to 64."""


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Where each of the records that were read lies in `data`; of no length where it is damaged."""

    data: Bytes
    starts: Offsets
    lengths: Offsets

    def at(self, rows: Offsets) -> Spans:
        """Those of the records at the places `rows`."""
        return Spans(self.data, self.starts[rows], self.lengths[rows])


class Layout(Protocol):
    """One way to write the fields of a schema into a record."""

    def assemble(self, block: Block, first: int) -> Records:
        """The records of a block, the first of which is number `first` in its shard.

        Raises:
            SchemaError: a column is not what its field says, or a value does not fit.
        """
        ...

    def parse(
        self, records: Spans, columns: Schema, take: Take = aligned_empty
    ) -> dict[str, Column]:
        """The columns asked for; variable ones view the records' buffer where alignment allows.

        Args:
            take: where memory comes from that columns need beside it.

        Raises:
            RowErrors: records are not in this layout.
        """
        ...


def fixed_column(block: Block, field: Field) -> FixedColumn:
    """The column of a fixed field, checked against it."""
    column = _column(block, field)
    expected = (block.rows, *field.shape)
    if not isinstance(column, FixedColumn) or column.values.shape != expected:
        raise SchemaError(
            f"field {field.name!r} ({field.spec}) got {_described(column)}; "
            f"give a fixed column of shape {expected}"
        )
    _check_dtype(field, column.values.dtype)
    return column


def var_column(block: Block, field: Field) -> VarColumn:
    """The column of a variable field, checked against it, as uint8 and counted in bytes."""
    column = _column(block, field)
    if not isinstance(column, VarColumn):
        raise SchemaError(
            f"field {field.name!r} ({field.spec}) got {_described(column)}; give a variable column"
        )
    _check_dtype(field, column.values.dtype)
    starts, lengths = column.starts, column.lengths
    inside = (starts >= 0) & (lengths >= 0) & (starts <= len(column.values) - lengths)
    if not inside.all():
        row = int(np.argmin(inside))
        raise SchemaError(
            f"field {field.name!r}: value {row} spans {lengths[row]} elements from {starts[row]} "
            f"on, outside the {len(column.values)} that the column holds"
        )
    if column.valid is not None:
        lengths = np.where(column.valid, lengths, 0)
    if column.values.dtype == np.uint8:
        return VarColumn(column.values, starts, lengths)
    size = column.values.dtype.itemsize
    raw = np.ascontiguousarray(column.values).view(np.uint8)
    return VarColumn(raw, starts * size, lengths * size)


def ragged_column(
    field: Field, values: Spans, valid: Valid = None, take: Take = aligned_empty
) -> VarColumn:
    """A ragged column of values that lie anywhere in a buffer.

    A view of the buffer where all values are aligned in memory, else a copy of them.

    Raises:
        RowErrors: values are not a whole number of elements.
    """
    data, starts, lengths = values.data, values.starts, values.lengths
    size = field.element.itemsize
    refuse(
        lengths & (size - 1) != 0,
        lambda row: (
            f"field {field.name!r} has {lengths[row]} bytes, no multiple of the {size} "
            f"of a {field.dtype}"
        ),
    )
    shift = size.bit_length() - 1
    aligned = not int(np.bitwise_or.reduce(starts, initial=0)) & (size - 1)
    if aligned and not data.ctypes.data & (size - 1):
        elements = data[: len(data) & -size].view(field.element)
        return VarColumn(elements, starts >> shift, lengths >> shift, valid)
    stops = np.cumsum(lengths)
    out = take(int(stops[-1]) if len(stops) else 0)
    copy_runs(data, starts, out, stops - lengths, lengths)
    packed = (stops - lengths) >> shift
    return VarColumn(out.view(field.element), packed, lengths >> shift, valid)


def _column(block: Block, field: Field) -> Column:
    try:
        column = block.columns[field.name]
    except KeyError:
        raise SchemaError(f"the block has no column for field {field.name!r}") from None
    if len(column) != block.rows:
        raise SchemaError(
            f"field {field.name!r} has {len(column)} of the block's {block.rows} rows"
        )
    if column.valid is not None and not field.nullable and not column.valid.all():
        row = int(np.argmin(column.valid))
        raise SchemaError(
            f"field {field.name!r} is null in row {row} of its block; "
            f"declare it as {field.spec + '?'!r} or give a value"
        )
    return column


def _check_dtype(field: Field, dtype: np.dtype[np.generic]) -> None:
    if dtype != field.element:
        raise SchemaError(f"field {field.name!r} ({field.spec}) got a column of {dtype}")


def _described(column: Column) -> str:
    if isinstance(column, FixedColumn):
        return f"a fixed column of shape {column.values.shape}"
    if isinstance(column, ObjectColumn):
        return "a column of Python objects"
    return "a variable column"
