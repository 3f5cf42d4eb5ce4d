"""Fields that need no decoder: rows of columns to places of the slot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.selection import Bad, Selection
from forebay.dataloader.flow.errors import DecodeError
from forebay.formats.column import FixedColumn, VarColumn, value_at
from forebay.formats.record import Field
from forebay.kernels.blocks import FixedBlocks, RaggedBlocks
from forebay.kernels.gather import gather_fixed
from forebay.kernels.ragged import RaggedRows, find_rows
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
    return gather_nulls(field, chosen, out)


def gather_nulls(field: Field, chosen: Selection, out: NDArray[Any]) -> Bad:
    """What `gather` returns, of values that were copied; floating-point nulls become NaN."""
    bad: Bad = {}
    if all(column.valid is None for column in chosen.columns(field.name)):
        return bad
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


def variable_rows(field: Field, chosen: Selection) -> RaggedRows | None:
    """Where the field's values lie; None where they are Python objects."""
    columns = chosen.columns(field.name)
    found = [(c.values, c.starts, c.lengths) for c in columns if isinstance(c, VarColumn)]
    if not found or len(found) < len(columns):
        return None
    return find_rows(field.name, RaggedBlocks.of(found), chosen.which, chosen.rows)


def collect(field: Field, chosen: Selection, found: RaggedRows | None, out: list[Any]) -> Bad:
    """Copies values of differing size: out[place] = value, None for nulls.

    Args:
        found: the field's `variable_rows`.

    Returns the places whose text is not UTF-8.
    """
    if found is not None and field.kind != "ragged":
        return _put(field, chosen, found, out)
    for column, rows, places in chosen.runs(field.name):
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            out[place] = value_at(field, column, row)
    return {}


def _put(field: Field, chosen: Selection, found: RaggedRows, out: list[Any]) -> Bad:
    """The field's text or bytes, all in one call."""
    valid = None
    if any(column.valid is not None for column in chosen.columns(field.name)):
        valid = np.concatenate(
            [
                np.ones(len(rows), np.bool_) if column.valid is None else column.valid[rows]
                for column, rows, _ in chosen.runs(field.name)
            ]
        )
    if field.kind != "text":
        put_bytes(found, chosen.places, out, valid)
        return {}
    return {
        int(chosen.places[i]): _not_utf8(field, chosen, i)
        for i in put_texts(found, chosen.places, out, valid)
    }


def _not_utf8(field: Field, chosen: Selection, i: int) -> DecodeError:
    column = chosen.columns(field.name)[int(chosen.which[i])]
    try:
        value_at(field, column, int(chosen.rows[i]))
    except UnicodeDecodeError as e:
        return DecodeError(f"field {field.name!r} is not UTF-8 text: {e}")
    raise AssertionError("text is UTF-8 in one place and not in another")
