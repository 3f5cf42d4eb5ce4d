"""Scalar columns side by side: a row of them is a cache line or two, where apart each takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels import _native
from forebay.kernels.spans import check_out, names, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["column_table", "gather_columns", "interleave"]

_WIDTHS = (1, 2, 4, 8)


def interleave(
    data: NDArray[np.uint8], starts: Sequence[int], rows: int, width: int, out: NDArray[np.uint8]
) -> None:
    """Columns of `data` go side by side, without the GIL: out[(row * columns + column) * width].

    Args:
        data: (n,) uint8, contiguous.
        starts: where each column of `rows` values of `width` bytes, 1, 2, 4 or 8, begins in it.
        out: (m,) uint8, contiguous, the caller's, apart from `data`.

    Raises:
        IndexError: a column does not lie inside `data`, or all do not fit `out`.
        ValueError: there are no such values.
    """
    _native.interleave(data, np.array(starts, np.int64), rows, width, out)


def column_table(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64] | None:
    """(columns, 3) uint64: address, number of values and bytes from one to the next, for
    `gather_columns`. It keeps no array alive.

    None where they are not 1-D, forward and of one width that it can take.
    """
    table = np.empty((len(columns), 3), np.uint64)
    for i, column in enumerate(columns):
        width = column.itemsize
        if column.ndim != 1 or width not in _WIDTHS or width != columns[0].itemsize:
            return None
        apart = column.strides[0] if len(column) > 1 else width
        if apart < width or column.dtype.hasobject:
            return None
        table[i] = column.__array_interface__["data"][0], len(column), apart
    return table


def gather_columns(
    tables: Sequence[NDArray[np.uint64]],
    which: NDArray[Any] | None,
    rows: NDArray[Any],
    places: NDArray[Any] | None,
    outs: Sequence[NDArray[Any]],
) -> None:
    """outs[c][places[i]] = value rows[i] of column c of block which[i], without the GIL.

    Args:
        tables: of each block, a `column_table` of arrays that live meanwhile, all with the values
            of dtype of the `outs`: the caller's to prove. At least one.
        which, rows, places: as `gather_fixed` takes them.
        outs: for each column (m,), C-contiguous, the caller's.

    Raises:
        IndexError: a block, row or place does not exist; names it, and nothing was written.
        ValueError: numbers of columns, or lengths or widths of `outs`, differ.
    """
    named = names(which, rows, places)
    for out in outs:
        check_out("gather_columns", out, out.dtype, ())
        if len(out) != len(outs[0]) or out.itemsize != outs[0].itemsize:
            raise ValueError("gather_columns: outs must be of one length and width")
    addresses = np.array([out.__array_interface__["data"][0] for out in outs], np.uint64)
    room, width = len(outs[0]), outs[0].itemsize
    code = _native.gather_columns(np.stack(tables), *named, room, width, addresses)
    report("gather_columns", code, named)
