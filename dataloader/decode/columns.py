"""Fields that need no decoder: rows of columns to places of the slot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.errors import DecodeError
from forebay.formats.column import Column, FixedColumn, value_at
from forebay.formats.record import Field

Int = NDArray[np.int64]
Bad = dict[int, Exception]
"""Places whose row cannot be delivered, and why."""


def is_dense(field: Field) -> bool:
    """Whether a batch of the field is one tensor without decoding."""
    return field.kind == "fixed"


def gather(field: Field, column: Column, rows: Int, places: Int, out: NDArray[Any]) -> Bad:
    """Copies fixed values: out[places] = column[rows]. Floating-point nulls become NaN.

    Returns the places whose value is null and has no NaN to become.
    """
    if not isinstance(column, FixedColumn):
        raise TypeError(f"field {field.name!r} is fixed but came as {type(column).__name__}")
    values = column.values[rows]
    if column.valid is None or (valid := column.valid[rows]).all():
        out[places] = values
        return {}
    if field.element.kind == "f":
        values[~valid] = np.nan
        out[places] = values
        return {}
    out[places] = values
    why = f"field {field.name!r} is null, and a tensor of {field.dtype} has no value for null"
    error = DecodeError(f"{why}; fill or drop the nulls when you pack, or read without this column")
    return {int(place): error for place in places[~valid]}


def collect(field: Field, column: Column, rows: Int, places: Int, out: list[Any]) -> Bad:
    """Copies values of differing size: out[place] = value, None for nulls.

    Returns the places whose text is not UTF-8.
    """
    bad: Bad = {}
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        try:
            out[place] = value_at(field, column, row)
        except UnicodeDecodeError as e:
            bad[place] = DecodeError(f"field {field.name!r} is not UTF-8 text: {e}")
    return bad
