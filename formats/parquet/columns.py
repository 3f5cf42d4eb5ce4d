"""Arrow arrays as columns of ours: views of the decoder's own buffers wherever the type allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from forebay.formats.arrow_numbers import numbers
from forebay.formats.column import Column, FixedColumn, ObjectColumn, Valid, VarColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from forebay.formats.record import Field


class UnfitValuesError(ValueError):
    """Values that the field has no form for; the message says which."""


def column_of(field: Field, chunked: pa.ChunkedArray) -> Column:
    """The column of a field.

    The result keeps Arrow's buffers alive. Copied are booleans (bits there), columns with nulls
    of fixed width, and columns in several pieces.

    Raises:
        UnfitValuesError: the values do not fit the field: nulls inside lists of integers, text
            that is not UTF-8.
        pyarrow.ArrowException: the array contradicts itself.
    """
    if field.kind == "other":
        values = chunked.to_pylist()
        valid = np.array([v is not None for v in values], np.bool_)
        return ObjectColumn(values, None if valid.all() else valid)
    if field.kind == "fixed":
        return _joined_fixed([_fixed(field, piece) for piece in chunked.chunks], field)
    pieces = [_variable(field, piece) for piece in chunked.chunks]
    return _joined_variable(pieces, field)


def _fixed(field: Field, array: pa.Array) -> FixedColumn:
    valid = _valid(array)
    if not types.is_fixed_size_list(array.type):
        values = _numbers(array)
        if valid is not None:
            values = np.where(valid, values, np.zeros((), values.dtype))
        return FixedColumn(values, valid)
    size = array.type.list_size
    inner = array.values.slice(array.offset * size, len(array) * size)
    values = _elements(field, inner, valid, size).reshape(len(array), *field.shape)
    if valid is not None:
        values = values.copy()
        values[~valid] = 0
    return FixedColumn(values, valid)


def _variable(field: Field, array: pa.Array) -> VarColumn:
    if types.is_dictionary(array.type):
        return _from_dictionary(field, array)
    valid = _valid(array)
    if types.is_struct(array.type):
        inner = _variable(field, array.field("bytes"))
        both = inner.valid if valid is None else valid
        if valid is not None and inner.valid is not None:
            both = valid & inner.valid
        if both is None:
            return inner
        return VarColumn(inner.values, inner.starts, np.where(both, inner.lengths, 0), both)
    starts, lengths = _bounds(array, valid)
    if field.kind == "ragged":
        values = _elements(field, array.values, None, 0)
    else:
        if field.kind == "text":
            _check_utf8(array, field)
        data = array.buffers()[2]
        values = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return VarColumn(values, starts, lengths, valid)


def _from_dictionary(field: Field, array: pa.DictionaryArray) -> VarColumn:
    """Strings that the file keeps once each: the rows' starts point into the dictionary."""
    words = _variable(field, array.dictionary)
    valid = _valid(array)
    index = _numbers(array.indices).astype(np.int64)
    if valid is not None:
        index = np.where(valid, index, 0)
    if not len(words):
        nothing = np.zeros(len(array), np.int64)
        return VarColumn(words.values, nothing, nothing.copy(), valid)
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < len(words):
        raise UnfitValuesError(f"column {field.name!r} points outside its dictionary")
    lengths = words.lengths[index]
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    return VarColumn(words.values, words.starts[index], lengths, valid)


def _bounds(array: pa.Array, valid: Valid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    large = types.is_large_list(array.type) or types.is_large_binary(array.type)
    large = large or types.is_large_string(array.type)
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), np.int64), np.zeros(len(array), np.int64)
    offsets = np.frombuffer(buffer, np.int64 if large else np.int32)
    bounds = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
    lengths: NDArray[np.int64] = np.diff(bounds)
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    return bounds[:-1], lengths


def _elements(field: Field, inner: pa.Array, valid: Valid, size: int) -> NDArray[Any]:
    """Elements of lists. Nulls among them are NaN in floats and refused in other types."""
    values = _numbers(inner)
    present = _valid(inner)
    if present is None:
        return values
    if np.issubdtype(values.dtype, np.floating):
        return np.where(present, values, values.dtype.type(np.nan))
    if valid is not None:
        present = present | ~np.repeat(valid, size)
    if not present.all():
        raise UnfitValuesError(
            f"column {field.name!r} has a null inside a list of {field.dtype} (element "
            f"{int(np.flatnonzero(~present)[0])} of the row group), which has no value of its own"
        )
    return values


def _numbers(array: pa.Array) -> NDArray[Any]:
    """(n,) values of a primitive array, whatever lies where values are null."""
    if types.is_boolean(array.type):
        return _bits(array.buffers()[1], array.offset, len(array))
    return numbers(array)


def _valid(array: pa.Array) -> Valid:
    if array.null_count == 0:
        return None
    return _bits(array.buffers()[0], array.offset, len(array))


def _bits(buffer: pa.Buffer | None, offset: int, count: int) -> NDArray[np.bool_]:
    if buffer is None:
        return np.zeros(count, np.bool_)
    packed = np.frombuffer(buffer, np.uint8)[offset // 8 : (offset + count + 7) // 8]
    bits = np.unpackbits(packed, bitorder="little")
    return bits[offset % 8 : offset % 8 + count].view(np.bool_)


def _check_utf8(array: pa.Array, field: Field) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as e:
        raise UnfitValuesError(f"column {field.name!r}: {e}") from e


def _joined_fixed(pieces: Sequence[FixedColumn], field: Field) -> FixedColumn:
    if len(pieces) == 1:
        return pieces[0]
    empty = [np.empty((0, *field.shape), field.element)]
    return FixedColumn(np.concatenate(empty + [p.values for p in pieces]), _joined_valid(pieces))


def _joined_variable(pieces: Sequence[VarColumn], field: Field) -> VarColumn:
    if len(pieces) == 1:
        return pieces[0]
    none = [np.empty(0, np.int64)]
    bases = np.cumsum([0] + [len(p.values) for p in pieces])
    return VarColumn(
        np.concatenate([np.empty(0, field.element)] + [p.values for p in pieces]),
        np.concatenate(none + [p.starts + b for p, b in zip(pieces, bases[:-1], strict=True)]),
        np.concatenate(none + [p.lengths for p in pieces]),
        _joined_valid(pieces),
    )


def _joined_valid(pieces: Sequence[Column]) -> Valid:
    if all(p.valid is None for p in pieces):
        return None
    return np.concatenate(
        [np.ones(len(p), np.bool_) if p.valid is None else p.valid for p in pieces]
    )
