"""Whether a block of columns that a caller made fits a schema, before its bytes are believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.errors import SchemaError
from forebay.formats.splice import compact

if TYPE_CHECKING:
    from forebay.formats.record import Field, Schema


def check_block(schema: Schema, block: Block, first: int = 0) -> None:
    """Passes where every column of `schema` is there and well formed; `first` numbers the rows.

    An image may have a companion `<field>.path` of text; any other extra column is refused.

    Raises:
        SchemaError: says which field, and which record where one is to blame.
    """
    images = {f"{f.name}.path" for f in schema if f.kind == "image"}
    extra = [n for n in block.columns if n not in schema and n not in images]
    missing = [n for n in schema.names if n not in block.columns]
    if extra or missing:
        raise SchemaError(
            f"records from {first} on: columns missing: {', '.join(missing) or 'none'}; "
            f"not among the fields: {', '.join(extra) or 'none'}"
        )
    for name, column in block.columns.items():
        where = f"records from {first} on, field {name!r}"
        if len(column) != block.rows:
            raise SchemaError(f"{where}: {len(column)} values for {block.rows} rows")
        if name in schema:
            _check_column(schema[name], column, where)
        else:
            _check_variable(column, np.dtype(np.uint8), where)
            _check_text(column, where)


def _check_column(field: Field, column: Column, where: str) -> None:
    if column.valid is not None:
        if column.valid.shape != (len(column),) or column.valid.dtype != np.bool_:
            raise SchemaError(f"{where}: valid must be ({len(column)},) bool")
        if not field.nullable and not column.valid.all():
            raise SchemaError(f"{where}: has nulls; write {field.spec + '?'!r} to allow them")
    if field.kind == "fixed":
        _check_fixed(field, column, where)
    elif field.kind == "other":
        raise SchemaError(f"{where}: kind 'other' cannot be written")
    else:
        _check_variable(column, field.element, where)
        if field.kind == "text":
            _check_text(column, where)


def _check_fixed(field: Field, column: Column, where: str) -> None:
    if not isinstance(column, FixedColumn):
        raise SchemaError(f"{where}: expected a FixedColumn, got {type(column).__name__}")
    shape, dtype = column.values.shape[1:], column.values.dtype
    if shape != field.shape or dtype != field.element:
        raise SchemaError(f"{where}: expected {field.spec}, got {dtype} of shape {shape}")


def _check_variable(column: Column, dtype: np.dtype[np.generic], where: str) -> None:
    if not isinstance(column, VarColumn):
        raise SchemaError(f"{where}: expected a VarColumn, got {type(column).__name__}")
    if column.values.dtype != dtype or column.values.ndim != 1:
        raise SchemaError(f"{where}: values must be 1-D {dtype}, got {column.values.dtype}")
    if column.starts.shape != column.lengths.shape or column.starts.ndim != 1:
        raise SchemaError(f"{where}: starts and lengths must be 1-D and of one size")
    stops = column.starts + column.lengths
    wrong = (column.starts < 0) | (column.lengths < 0) | (stops > len(column.values))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise SchemaError(
            f"{where}: row {i} takes elements {column.starts[i]} to {stops[i]} "
            f"of {len(column.values)}"
        )


def _check_text(column: Column, where: str) -> None:
    """Whether each value is UTF-8: the whole is, and no value begins inside a character."""
    if not isinstance(column, VarColumn):
        return
    values = compact(column)
    used = column.lengths > 0
    starts = (np.cumsum(column.lengths) - column.lengths)[used]
    try:
        str(np.ascontiguousarray(values).data, "utf-8") if values.size else ""
    except UnicodeDecodeError as e:
        row = int(np.flatnonzero(used)[np.searchsorted(starts, e.start, side="right") - 1])
        raise SchemaError(f"{where}: row {row} is not UTF-8: {e.reason}") from e
    inside = (values[starts] & 0xC0) == 0x80
    if inside.any():
        row = int(np.flatnonzero(used)[np.flatnonzero(inside)[0]])
        raise SchemaError(f"{where}: row {row} is not UTF-8: it begins inside a character")
