"""Names of rows to addresses: what every gathering kernel does first, and refuses.

An index of no rows stands for the usual one: block 0 for all of `which`, in order for `places`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int = NDArray[np.int64]
    Names = tuple[Int, Int, Int]

__all__ = [
    "INDEX",
    "NO_PLACE",
    "TABLE",
    "as_index",
    "check_out",
    "names",
    "report",
]

TABLE = "Array(uint64, 2, 'C')"
INDEX = "Array(int64, 1, 'C', readonly=True)"

# Why a kernel refuses a row: it returns 8 * number of the row + the reason, and -1 if all is well.
# The reasons are those of `Refusal` in native/core/names.hpp.
NO_PLACE = 3
_REASONS = (
    "there is no such block",
    "it lies outside its block, or the block was dropped",
    "its start and length do not lie inside its block's values",
    "its place lies outside out",
    "it does not fit out",
)


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
