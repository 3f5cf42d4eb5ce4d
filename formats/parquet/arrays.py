"""Columns of ours as Arrow arrays, to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from forebay.formats.column import Block, Column, FixedColumn, Valid, VarColumn
from forebay.formats.errors import SchemaError
from forebay.formats.parquet.schema import arrow_field
from forebay.formats.splice import compact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.record import Field, Schema

# Offsets and page sizes are int32 there; half of that leaves room for a codec's overhead.
MAX_COLUMN_BYTES = 1 << 30


class TooLargeError(ValueError):
    """A column of one block holds more than Parquet can say."""


def table_of(schema: Schema, block: Block, arrow: pa.Schema) -> pa.Table:
    """A block as an Arrow table; values are copied only where they do not lie end to end.

    Raises:
        SchemaError: a column is missing or does not fit its field.
        TooLargeError: a column has more than 1 GiB.
    """
    arrays = []
    for field in schema:
        column = block.columns.get(field.name)
        if column is None or len(column) != block.rows:
            have = "no such column" if column is None else f"{len(column)} values"
            raise SchemaError(f"field {field.name!r}: {have} in a block of {block.rows} rows")
        arrays.append(_array(field, column, block.columns.get(f"{field.name}.path")))
    return pa.Table.from_arrays(arrays, schema=arrow)


def _array(field: Field, column: Column, path: Column | None) -> pa.Array:
    valid = column.valid
    if valid is not None and valid.all():
        valid = None
    if valid is not None and not field.nullable:
        raise SchemaError(f"field {field.name!r} has nulls; write {field.spec + '?'!r} for it")
    type_ = arrow_field(field).type
    if field.kind == "fixed":
        return _fixed(field, column, valid, type_)
    if not isinstance(column, VarColumn) or column.values.dtype != field.element:
        raise SchemaError(f"field {field.name!r}: {field.spec} wants a VarColumn of its dtype")
    if field.kind == "image":
        children = [_binary(field, column, valid, pa.binary()), _paths(field, column, path)]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=_mask(valid))
    if field.kind == "ragged":
        offsets, values = _packed(field, column, valid)
        inner = pa.array(values, type_.value_type)
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), inner, type=type_, mask=_mask(valid)
        )
    return _binary(field, column, valid, type_)


def _fixed(field: Field, column: Column, valid: Valid, type_: pa.DataType) -> pa.Array:
    if (
        not isinstance(column, FixedColumn)
        or column.values.dtype != field.element
        or column.values.shape[1:] != field.shape
    ):
        raise SchemaError(f"field {field.name!r}: the column's values are not {field.spec}")
    _check_size(field, column.values.nbytes)
    if not field.shape:
        mask = None if valid is None else ~valid
        return pa.array(np.ascontiguousarray(column.values), type_, mask=mask)
    inner = pa.array(np.ascontiguousarray(column.values).reshape(-1), type_.value_type)
    return pa.FixedSizeListArray.from_arrays(inner, type=type_, mask=_mask(valid))


def _binary(field: Field, column: VarColumn, valid: Valid, type_: pa.DataType) -> pa.Array:
    offsets, values = _packed(field, column, valid)
    bits = None
    if valid is not None:
        bits = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(
        type_, len(column), [bits, pa.py_buffer(offsets), pa.py_buffer(values)]
    )


def _paths(field: Field, column: VarColumn, path: Column | None) -> pa.Array:
    if path is None:
        return pa.nulls(len(column), pa.string())
    if not isinstance(path, VarColumn) or path.values.dtype != np.uint8:
        raise SchemaError(f"field {field.name!r}: its path column must be a VarColumn of text")
    if len(path) != len(column):
        raise SchemaError(f"field {field.name!r}: {len(path)} paths for {len(column)} images")
    return _binary(field, path, path.valid, pa.string())


def _packed(
    field: Field, column: VarColumn, valid: Valid
) -> tuple[NDArray[np.int32], NDArray[np.generic]]:
    """(rows + 1,) offsets and the values end to end; nulls take none."""
    lengths = column.lengths if valid is None else np.where(valid, column.lengths, 0)
    _check_size(field, int(lengths.sum()) * column.values.itemsize)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    values = compact(VarColumn(column.values, column.starts, lengths))
    return offsets, np.ascontiguousarray(values)


def _check_size(field: Field, nbytes: int) -> None:
    if nbytes > MAX_COLUMN_BYTES:
        raise TooLargeError(
            f"field {field.name!r}: {nbytes} bytes in one block, more than the "
            f"{MAX_COLUMN_BYTES} that a Parquet row group takes here; write smaller blocks"
        )


def _mask(valid: Valid) -> pa.Array | None:
    return None if valid is None else pa.array(~valid)
