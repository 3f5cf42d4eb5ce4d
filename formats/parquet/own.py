"""Columns moved out of the decoder's memory.

Arrow's pool keeps what it was given back, and a small array that outlives its block would keep a
large buffer of it. A block that stays is held in mappings of its own, which end when it does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.formats.column import Column, FixedColumn, VarColumn
from forebay.kernels.align import aligned_empty


def owned(column: Column) -> Column:
    """The same values in memory that nothing else shares."""
    if isinstance(column, FixedColumn):
        return FixedColumn(_copy(column.values), column.valid)
    if isinstance(column, VarColumn):
        # Copied here too: starts are views of an array of bounds.
        return VarColumn(_copy(column.values), _copy(column.starts), column.lengths, column.valid)
    return column


def _copy(values: NDArray[Any]) -> NDArray[Any]:
    out = aligned_empty(values.nbytes).view(values.dtype).reshape(values.shape)
    np.copyto(out, values)
    return out
