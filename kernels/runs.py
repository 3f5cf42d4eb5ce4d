"""Many short runs of bytes moved in one call, without the GIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["copy_runs", "split_records", "take_runs"]


def take_runs(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    width: int,
    out: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """The `width` bytes of `data` from each of `starts` on, one behind the other.

    Args:
        data: (n,) uint8, contiguous.
        starts: (K,) int64.
        out: (K * width,) uint8, contiguous, to write to; without it a new array, the caller's.

    Raises:
        IndexError: a run does not lie inside `data`; names the first.
        ValueError: `width` is negative, or `out` has another size.
    """
    if width < 0:
        raise ValueError(f"width must be at least 0 bytes, got {width}")
    if out is None:
        out = np.empty(len(starts) * width, np.uint8)
    if width:
        _native.take_runs(data, np.ascontiguousarray(starts), width, out)
    elif out.size:
        raise ValueError(f"out has {out.size} bytes where runs of width 0 take none")
    return out


def copy_runs(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_starts: NDArray[np.int64],
    lengths: NDArray[Any],
) -> None:
    """Copies run i, `lengths[i]` bytes, from its start in `data` to its start in `out`.

    Args:
        data: (n,) uint8, contiguous; may not overlap `out`.
        starts: (K,) int64, as are the other two.
        out: (m,) uint8, contiguous, the caller's.

    Raises:
        IndexError: a run does not lie inside its buffer; names the first, and nothing is written.
        ValueError: the sizes differ.
    """
    offsets = (np.ascontiguousarray(a, np.int64) for a in (starts, out_starts, lengths))
    first, to, size = offsets
    _native.copy_runs(np.ascontiguousarray(data), first, out, to, size)


def split_records(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    prefix: int,
    fields: int,
) -> NDArray[np.int64] | None:
    """Where the values of records lie whose sizes stand in the records themselves.

    A record is `prefix` bytes, the last 4 * `fields` of which are the values' sizes as u32, and the
    values end to end behind them.

    Args:
        data: (n,) uint8, contiguous.
        starts: (K,) int64 of the records, contiguous.
        lengths: (K,) int64, likewise.

    Returns:
        (fields, 2, K): of each field the starts of its values in `data`, and their sizes in bytes.
        None where a record is shorter than its prefix, or its sizes do not add up to its length.

    Raises:
        IndexError: a record does not lie inside `data`; names the first.
        ValueError: the sizes differ, or `prefix` has no room for so many fields.
    """
    count = len(starts)
    spans = np.empty((fields, 2, count), np.int64)
    sizes_at = prefix - 4 * fields
    if sizes_at < 0:
        raise ValueError(f"a prefix of {prefix} bytes has no room for the sizes of {fields} fields")
    whole = _native.split_records(
        data, starts, lengths, prefix, sizes_at, fields, spans.reshape(-1)
    )
    return spans if whole == count else None
