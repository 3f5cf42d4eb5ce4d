"""Names of rows to addresses: what every gathering kernel does first, and refuses.

An index of no rows stands for the usual one: block 0 for all of `which`, in order for `places`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels.address import load_i64, prefetch
from forebay.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int = NDArray[np.int64]
    Names = tuple[Int, Int, Int]

__all__ = [
    "INDEX",
    "NAMES",
    "NO_PLACE",
    "NO_ROOM",
    "TABLE",
    "as_index",
    "check_out",
    "names",
    "report",
    "resolve_ragged",
]

TABLE = "Array(uint64, 2, 'C')"
INDEX = "Array(int64, 1, 'C', readonly=True)"
NAMES = f"UniTuple({INDEX}, 3)"

# Why a kernel refuses a row: it returns 8 * number of the row + the reason, and -1 if all is well.
_NO_BLOCK, _NO_ROW, _NO_SPAN, NO_PLACE, NO_ROOM = 0, 1, 2, 3, 4
_REASONS = (
    "there is no such block",
    "it lies outside its block, or the block was dropped",
    "its start and length do not lie inside its block's values",
    "its place lies outside out",
    "it does not fit out",
)
_AHEAD = 12


def as_index(name: str, index: NDArray[Any] | None, size: int) -> Int:
    """`index` as (size,) contiguous int64; None becomes an index of no rows.

    Raises:
        ValueError: it has another shape.
        TypeError: it holds other things than integers that int64 holds.
    """
    if index is None:
        return _NONE
    if index.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {index.shape}")
    if index.dtype == np.int64 and index.flags.c_contiguous:
        return index
    if not np.can_cast(index.dtype, np.int64, "safe"):
        raise TypeError(f"{name} must be int64 or narrower integers, got {index.dtype}")
    return np.ascontiguousarray(index, np.int64)


_NONE = np.empty(0, np.int64)


def names(which: NDArray[Any] | None, rows: NDArray[Any], places: NDArray[Any] | None) -> Names:
    """Block numbers, rows and places as kernels take them. Raises as `as_index`."""
    rows = as_index("rows", rows, rows.size)
    return as_index("which", which, rows.size), rows, as_index("places", places, rows.size)


def check_out(who: str, out: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Raises ValueError unless `out` is writable rows of this dtype and shape, C-contiguous; and
    TypeError for Python objects, which cannot be copied as bytes."""
    if dtype.hasobject:
        raise TypeError(f"{who}: Python objects cannot be copied as bytes, got dtype {dtype}")
    if out.dtype != dtype or out.ndim == 0 or out.shape[1:] != shape:
        raise ValueError(f"{who}: out must be rows of {dtype} {shape}, got {out.dtype} {out.shape}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(f"{who}: out must be C-contiguous and writable")


def report(who: str, code: int, named: Names) -> None:
    """Raises IndexError for what a kernel returned, unless that is -1.

    Raises:
        IndexError: names the row, its block, its number in the call, and what is wrong with it.
    """
    if code < 0:
        return
    which, rows, _ = named
    number, reason = divmod(code, 8)
    block = which[number] if which.size else 0
    raise IndexError(
        f"{who}: row {rows[number]} of block {block} (number {number} of {len(rows)}): "
        f"{_REASONS[reason]}; nothing was written"
    )


@compiled()
def _check_names(table: NDArray[np.uint64], which: Int, rows: Int, column: int) -> int:
    # `column` of the table has each block's number of rows.
    for i in range(rows.size):
        block = which[i] if which.size else 0
        if block < 0 or block >= table.shape[0]:
            return 8 * i + _NO_BLOCK
        if rows[i] < 0 or rows[i] >= np.int64(table[block, column]):
            return 8 * i + _NO_ROW
    return -1


# Starts and lengths lie all over memory: they are asked for a few rows ahead, since a miss of the
# cache costs as much as all the rest of a row.
@compiled()
def resolve_ragged(
    table: NDArray[np.uint64],
    which: Int,
    rows: Int,
    itemsize: int,
    found: NDArray[np.uint64],
    lengths: Int,
) -> int:
    """Writes address and length (in elements) of each row. Returns -1, or what `report`
    understands."""
    code = _check_names(table, which, rows, 2)
    if code >= 0:
        return code
    for i in range(rows.size):
        if i + _AHEAD < rows.size:
            ahead = which[i + _AHEAD] if which.size else 0
            skip = np.uint64(8 * rows[i + _AHEAD])
            prefetch(table[ahead, 3] + skip)
            prefetch(table[ahead, 4] + skip)
        block = which[i] if which.size else 0
        start = load_i64(table[block, 3] + np.uint64(8 * rows[i]))
        length = load_i64(table[block, 4] + np.uint64(8 * rows[i]))
        size = np.int64(table[block, 1])
        if start < 0 or length < 0 or start > size or length > size - start:
            return 8 * i + _NO_SPAN
        found[i] = table[block, 0] + np.uint64(start * itemsize)
        lengths[i] = length
    return -1
