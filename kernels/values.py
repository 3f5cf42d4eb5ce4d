"""Runs of bytes as Python values, many in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels import _native
from forebay.kernels.spans import as_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.kernels.ragged import RaggedRows

    Int = NDArray[np.int64]

__all__ = ["put_bytes", "put_texts"]

_ALL = np.empty(0, np.bool_)


def put_texts(
    rows: RaggedRows, places: Int, out: list[Any], valid: NDArray[np.bool_] | None = None
) -> list[int]:
    """out[places[i]] = the str that row i holds. Rows of one short text may share one str.

    Args:
        rows: K rows of uint8.
        places: (K,) int64.
        valid: (K,) bool: where it is False the value is None. None: all are valid.

    Returns:
        The numbers i of values that are not UTF-8; `out` is left as it is there.

    Raises:
        IndexError: a place lies outside `out`.
        ValueError: the sizes differ.
        TypeError: rows are not of uint8.
    """
    return _put(rows, places, out, valid, text=True)


def put_bytes(
    rows: RaggedRows, places: Int, out: list[Any], valid: NDArray[np.bool_] | None = None
) -> None:
    """As `put_texts`, bytes as they are, each its own."""
    _put(rows, places, out, valid, text=False)


def _put(
    rows: RaggedRows,
    places: Int,
    out: list[Any],
    valid: NDArray[np.bool_] | None,
    *,
    text: bool,
) -> list[int]:
    if rows.dtype != np.uint8:
        raise TypeError(f"values: rows must be of uint8, got {rows.dtype}")
    chosen = _ALL if valid is None else valid
    index = as_index("places", places, len(rows.lengths))
    return _native.values(rows.addresses, rows.lengths, index, chosen, text, out)
