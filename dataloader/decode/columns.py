"""Fields that need no decoder: rows of columns to places of the slot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.selection import Bad, Int, Selection
from forebay.dataloader.flow.errors import DecodeError
from forebay.formats.column import FixedColumn, VarColumn, value_at
from forebay.formats.record import Field
from forebay.kernels.blocks import FixedBlocks
from forebay.kernels.gather import gather_fixed
from forebay.kernels.values import put_bytes, put_texts


def is_dense(field: Field) -> bool:
    """Whether a batch of the field is one tensor without decoding."""
    return field.kind == "fixed"


def gather(field: Field, chosen: Selection, out: NDArray[Any]) -> Bad:
    """Copies fixed values to out[places]. Floating-point nulls become NaN.

    Returns the places whose value is null and has no NaN to become.
    """
    columns = chosen.columns(field.name)
    if not len(chosen):
        return {}
    values = [column.values for column in columns if isinstance(column, FixedColumn)]
    if len(values) < len(columns):
        other = next(type(c).__name__ for c in columns if not isinstance(c, FixedColumn))
        raise TypeError(f"field {field.name!r} is fixed but came as {other}")
    blocks = FixedBlocks.alike(values, out)
    if blocks is not None:
        gather_fixed(blocks, chosen.which, chosen.rows, chosen.places, out)
    else:
        for column, rows, places in chosen.runs(field.name):
            out[places] = column.values[rows]
    if all(column.valid is None for column in columns):
        return {}
    return _nulls(field, chosen, out)


def _nulls(field: Field, chosen: Selection, out: NDArray[Any]) -> Bad:
    bad: Bad = {}
    for column, rows, places in chosen.runs(field.name):
        if column.valid is None or (valid := column.valid[rows]).all():
            continue
        if field.element.kind == "f":
            out[places[~valid]] = np.nan
            continue
        error = DecodeError(
            f"field {field.name!r} is null, and a tensor of {field.dtype} has no value for null; "
            "fill or drop the nulls when you pack, or read without this column"
        )
        bad |= {int(place): error for place in places[~valid]}
    return bad


def collect(field: Field, chosen: Selection, out: list[Any]) -> Bad:
    """Copies values of differing size: out[place] = value, None for nulls.

    Returns the places whose text is not UTF-8.
    """
    bad: Bad = {}
    for column, rows, places in chosen.runs(field.name):
        if isinstance(column, VarColumn) and field.kind != "ragged":
            bad |= _put(field, column, rows, places, out)
            continue
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            out[place] = value_at(field, column, row)
    return bad


def _put(field: Field, column: VarColumn, rows: Int, places: Int, out: list[Any]) -> Bad:
    """The column's text or bytes, all in one call."""
    valid = None if column.valid is None else column.valid[rows]
    spans = column.values, column.starts[rows], column.lengths[rows]
    if field.kind != "text":
        put_bytes(*spans, places, out, valid)
        return {}
    return {
        int(places[i]): _not_utf8(field, column, int(rows[i]))
        for i in put_texts(*spans, places, out, valid)
    }


def _not_utf8(field: Field, column: VarColumn, row: int) -> DecodeError:
    try:
        value_at(field, column, row)
    except UnicodeDecodeError as e:
        return DecodeError(f"field {field.name!r} is not UTF-8 text: {e}")
    raise AssertionError("text is UTF-8 in one place and not in another")
