"""Runs of bytes as Python values, many in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int = NDArray[np.int64]

__all__ = ["put_bytes", "put_texts"]

_ALL = np.empty(0, np.bool_)


def put_texts(
    data: NDArray[np.uint8],
    starts: Int,
    lengths: Int,
    places: Int,
    out: list[Any],
    valid: NDArray[np.bool_] | None = None,
) -> list[int]:
    """out[places[i]] = the str that the `lengths[i]` bytes from starts[i] on hold.

    Args:
        data: (n,) uint8, contiguous.
        starts: (K,) int64, as lengths and places.
        valid: (K,) bool: where it is False the value is None. None: all are valid.

    Returns:
        The numbers i of values that are not UTF-8; `out` is left as it is there.

    Raises:
        IndexError: a value lies outside `data`, and nothing was written; or a place outside `out`.
        ValueError: the sizes differ.
    """
    return _put(data, starts, lengths, places, out, valid, text=True)


def put_bytes(
    data: NDArray[np.uint8],
    starts: Int,
    lengths: Int,
    places: Int,
    out: list[Any],
    valid: NDArray[np.bool_] | None = None,
) -> None:
    """As `put_texts`, bytes as they are."""
    _put(data, starts, lengths, places, out, valid, text=False)


def _put(
    data: NDArray[np.uint8],
    starts: Int,
    lengths: Int,
    places: Int,
    out: list[Any],
    valid: NDArray[np.bool_] | None,
    *,
    text: bool,
) -> list[int]:
    chosen = _ALL if valid is None else valid
    places = np.ascontiguousarray(places)
    return _native.values(np.ascontiguousarray(data), starts, lengths, places, chosen, text, out)
