"""Rows of differing size as one matrix, padded and cut to its width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels.address import copy_bytes, prefetch_run, typed_at
from forebay.kernels.blocks import RaggedBlocks, address_of
from forebay.kernels.compiled import compiled
from forebay.kernels.spans import (
    NAMES,
    NO_PLACE,
    NO_ROOM,
    TABLE,
    check_out,
    names,
    report,
    resolve_ragged,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.kernels.spans import Int, Names

__all__ = ["pad", "pad_rows"]

_AHEAD = 8
_U8, _U16 = np.empty(0, np.uint8), np.empty(0, np.uint16)
_U32, _U64 = np.empty(0, np.uint32), np.empty(0, np.uint64)


def pad(
    blocks: RaggedBlocks,
    which: NDArray[Any] | None,
    rows: NDArray[Any],
    places: NDArray[Any] | None,
    out: NDArray[Any],
    *,
    fill: Any = 0,
    left: bool = False,
) -> NDArray[np.int64]:
    """Writes row rows[i] of block which[i] to out[places[i]], without the GIL.

    A row longer than `out` is wide keeps its first elements; a shorter one is followed by `fill`,
    or preceded by it if `left`.

    Args:
        which: (n,) block numbers; None where all rows are of block 0.
        rows: (n,) rows in their blocks, in any order.
        places: (n,) rows of `out`, each once; None for 0 to n - 1.
        out: (m, width) of the blocks' dtype, of 1, 2, 4 or 8 bytes an element, C-contiguous, the
            caller's. Rows that have no place in it are left alone.
        fill: cast to the dtype.

    Returns:
        (n,) int64, new, the caller's: elements of each row that were kept.

    Raises:
        IndexError: a block, row or place does not exist, or a row's span lies outside the block's
            values; names it, and nothing was written.
        ValueError, TypeError: shapes, dtypes or layouts do not go together.
        OverflowError: `fill` does not fit the dtype.
    """
    if out.ndim != 2:
        raise ValueError(f"pad: out must be (m, width), got shape {out.shape}")
    width, named = out.shape[1], names(which, rows, places)
    goes = np.arange(rows.size) if places is None else named[2]
    if (outside := np.flatnonzero((goes < 0) | (goes >= len(out)))).size:
        report("pad", 8 * int(outside[0]) + NO_PLACE, named)
    spans = goes * width, np.full(rows.size, width, np.int64)
    return pad_rows(blocks, which, rows, out.reshape(-1), spans, fill=fill, left=left)


def pad_rows(
    blocks: RaggedBlocks,
    which: NDArray[Any] | None,
    rows: NDArray[Any],
    out: NDArray[Any],
    spans: tuple[Int, Int],
    *,
    fill: Any = 0,
    left: bool = False,
) -> NDArray[np.int64]:
    """As `pad`, to spans of differing width, such as rows of several matrices in one buffer.

    Args:
        out: (elements,) of the blocks' dtype, of 1, 2, 4 or 8 bytes an element, C-contiguous, the
            caller's. What is in no span is left alone.
        spans: (n,) int64 each: the first element of each row's span in `out`, and its width.
            They must not overlap.
    """
    starts, widths = spans
    named = names(which, rows, starts)
    check_out("pad", out, blocks.dtype, ())
    itemsize = blocks.dtype.itemsize
    if itemsize not in (1, 2, 4, 8):
        raise TypeError(f"pad: elements must be of 1, 2, 4 or 8 bytes, got {blocks.dtype}")
    if widths.shape != rows.shape or widths.dtype != np.int64:
        raise ValueError(f"pad: widths must be {rows.shape} int64, got {widths.shape}")
    # Zero, the usual, needs no conversion, which costs as much as many rows.
    zero = type(fill) is int and fill == 0
    pattern = 0 if zero else int(np.array([fill], blocks.dtype).view(f"u{itemsize}")[0])
    kept = np.empty(rows.size, np.int64)
    where = (address_of(out), len(out), itemsize)
    code = _pad(blocks.table, named, widths, where, np.uint64(pattern), left, kept)
    report("pad", code, named)
    return kept


# One kernel for all widths, not one for each: compiling takes a second, choosing a loop nothing.
@compiled()
def _fill(target: np.uint64, count: int, itemsize: int, fill: np.uint64) -> None:
    if itemsize == 4:
        for j in range(count):
            typed_at(target, _U32)[j] = np.uint32(fill)
    elif itemsize == 8:
        for j in range(count):
            typed_at(target, _U64)[j] = fill
    elif itemsize == 2:
        for j in range(count):
            typed_at(target, _U16)[j] = np.uint16(fill)
    else:
        for j in range(count):
            typed_at(target, _U8)[j] = np.uint8(fill)


@compiled(
    f"int64({TABLE}, {NAMES}, int64[::1], UniTuple(int64, 3), uint64, boolean, int64[::1])",
)
def _pad(
    table: NDArray[np.uint64],
    named: Names,
    widths: Int,
    where: tuple[int, int, int],
    fill: np.uint64,
    left: bool,
    kept: Int,
) -> int:
    which, rows, starts = named
    out, room, itemsize = where
    found = np.empty(rows.size, np.uint64)
    code = resolve_ragged(table, which, rows, itemsize, found, kept)
    if code >= 0:
        return code
    for i in range(rows.size):
        if widths[i] < 0 or starts[i] < 0 or widths[i] > room or starts[i] > room - widths[i]:
            return 8 * i + NO_ROOM
    for i in range(rows.size):
        if i + _AHEAD < rows.size:
            ahead = min(kept[i + _AHEAD], widths[i + _AHEAD])
            prefetch_run(found[i + _AHEAD], ahead * itemsize)
        width = widths[i]
        size = min(kept[i], width)
        kept[i] = size
        row = np.uint64(out) + np.uint64(starts[i] * itemsize)
        first, blank = (width - size, 0) if left else (0, size)
        copy_bytes(row + np.uint64(first * itemsize), found[i], size * itemsize)
        _fill(row + np.uint64(blank * itemsize), width - size, itemsize, fill)
    return -1
