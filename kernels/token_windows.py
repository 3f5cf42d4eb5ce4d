"""Windows of fixed length out of a stream of tokens that is stored as chunks and documents.

Chunks lie end to end; a window may begin in one and end in another. Documents do so too, and a
window may hold several: segment ids keep attention inside each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels.address import copy_bytes, typed_at
from forebay.kernels.blocks import FixedBlocks, address_of
from forebay.kernels.compiled import compiled
from forebay.kernels.spans import INDEX, TABLE, as_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.kernels.spans import Int

__all__ = ["document_ids", "token_windows"]

_STREAM = f"UniTuple({INDEX}, 2)"
_SIZES = "UniTuple(int64, 2)"
_U8, _U16, _U32 = np.empty(0, np.uint8), np.empty(0, np.uint16), np.empty(0, np.uint32)
_I32, _I64 = np.empty(0, np.int32), np.empty(0, np.int64)
# No row of a window's own is at fault here, so a kernel returns 8 * window + one of these.
_OUTSIDE, _ABSENT, _SHORT = 0, 1, 2
_UNORDERED = -2
_REASONS = {
    _OUTSIDE: "does not lie inside the stream",
    _ABSENT: "needs a chunk that is not there",
    _SHORT: "needs a chunk that has fewer tokens than the stream says",
}


def token_windows(
    chunks: FixedBlocks,
    number: NDArray[Any],
    chunk_starts: NDArray[Any],
    starts: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """out[i] = tokens [starts[i], starts[i] + length) of the stream, without the GIL.

    Args:
        chunks: of one unsigned or signed integer dtype and shape (): tokens.
        number: (c,) which of `chunks` holds chunk c of the stream; -1 where it is not in memory.
        chunk_starts: (c + 1,) first token of each chunk, and the total; ascending from 0.
        starts: (n,) first token of each window.
        out: (n, length), C-contiguous, the caller's: the chunks' dtype, or int32 or int64, to which
            tokens are widened.

    Raises:
        IndexError: a window does not lie inside the stream, or needs a chunk that is not there or
            too short; names it, and windows from it on were not written.
        ValueError, TypeError: shapes or dtypes do not go together.
    """
    starts = as_index("starts", starts, starts.size)
    number = as_index("number", number, number.size)
    chunk_starts = as_index("chunk_starts", chunk_starts, number.size + 1)
    if chunks.shape != ():
        raise ValueError(f"token_windows: tokens must be scalars, got rows of {chunks.shape}")
    if out.ndim != 2 or len(out) != starts.size:
        raise ValueError(f"token_windows: out must be ({starts.size}, length), got {out.shape}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError("token_windows: out must be C-contiguous and writable")
    _check_widening(chunks.dtype, out.dtype)
    sizes = (chunks.dtype.itemsize, out.itemsize)
    stream = (number, chunk_starts)
    code = _windows(chunks.table, stream, starts, out.shape[1], sizes, address_of(out))
    if code == _UNORDERED:
        raise ValueError("token_windows: chunk_starts must ascend from 0")
    if code >= 0:
        window, reason = divmod(code, 8)
        raise IndexError(
            f"token_windows: window {window} of {starts.size}, tokens [{starts[window]}, "
            f"{int(starts[window]) + out.shape[1]}) of {chunk_starts[-1]}, {_REASONS[reason]}"
        )


def document_ids(
    document_starts: NDArray[Any],
    starts: NDArray[Any],
    segment_ids: NDArray[np.int32],
    position_ids: NDArray[np.int32],
) -> None:
    """For each token of each window, the number of its document there and its place in it.

    The first document of a window has number 0 and counts its places from the window's first token
    on, wherever it began: a model sees nothing before.

    Args:
        document_starts: (d,) first token of each document, ascending; two that are equal are an
            empty document, which has no number.
        starts: (n,) first token of each window.
        segment_ids: (n, length) int32, C-contiguous, the caller's, as `position_ids`.

    Raises:
        ValueError, TypeError: shapes or dtypes do not go together, or the documents do not ascend.
    """
    starts = as_index("starts", starts, starts.size)
    document_starts = as_index("document_starts", document_starts, document_starts.size)
    for name, ids in (("segment_ids", segment_ids), ("position_ids", position_ids)):
        if (
            ids.dtype != np.int32
            or ids.ndim != 2
            or ids.shape != segment_ids.shape
            or len(ids) != starts.size
            or not ids.flags.c_contiguous
            or not ids.flags.writeable
        ):
            raise ValueError(
                f"document_ids: {name} must be writable contiguous int32 ({starts.size}, length), "
                f"got {ids.dtype} {ids.shape}"
            )
    if (np.diff(document_starts) < 0).any():
        raise ValueError("document_ids: document_starts must ascend")
    _ids(document_starts, starts, segment_ids, position_ids)


def _check_widening(dtype: np.dtype[Any], out: np.dtype[Any]) -> None:
    if dtype.kind not in "iu":
        raise TypeError(f"token_windows: tokens must be integers, got {dtype}")
    widened = out in (np.int32, np.int64) and np.can_cast(dtype, out, "safe")
    if out != dtype and not (widened and dtype.kind == "u"):
        raise TypeError(f"token_windows: tokens of {dtype} do not go to out of {out}")


# One kernel for all pairs of types, not one for each: compiling takes a second.
@compiled()
def _widen(source: np.uint64, target: np.uint64, count: int, sizes: tuple[int, int]) -> None:
    stored, wanted = sizes
    if stored == wanted:
        copy_bytes(target, source, count * stored)
    elif stored == 1 and wanted == 4:
        for j in range(count):
            typed_at(target, _I32)[j] = np.int32(typed_at(source, _U8)[j])
    elif stored == 2 and wanted == 4:
        for j in range(count):
            typed_at(target, _I32)[j] = np.int32(typed_at(source, _U16)[j])
    elif stored == 1:
        for j in range(count):
            typed_at(target, _I64)[j] = np.int64(typed_at(source, _U8)[j])
    elif stored == 2:
        for j in range(count):
            typed_at(target, _I64)[j] = np.int64(typed_at(source, _U16)[j])
    else:
        for j in range(count):
            typed_at(target, _I64)[j] = np.int64(typed_at(source, _U32)[j])


@compiled(f"int64({TABLE}, {_STREAM}, {INDEX}, int64, {_SIZES}, uint64)")
def _windows(
    table: NDArray[np.uint64],
    stream: tuple[Int, Int],
    starts: Int,
    length: int,
    sizes: tuple[int, int],
    out: int,
) -> int:
    number, chunk_starts = stream
    stored, wanted = sizes
    if chunk_starts[0] != 0:
        return _UNORDERED
    for i in range(number.size):
        if chunk_starts[i + 1] < chunk_starts[i]:
            return _UNORDERED
    for i in range(starts.size):
        start = starts[i]
        if start < 0 or start > chunk_starts[-1] - length:
            return 8 * i + _OUTSIDE
        chunk = np.searchsorted(chunk_starts, start, side="right") - 1
        done = 0
        while done < length:
            first = start + done - chunk_starts[chunk]
            count = min(length - done, chunk_starts[chunk + 1] - start - done)
            slot = number[chunk]
            if count and (slot < 0 or slot >= table.shape[0]):
                return 8 * i + _ABSENT
            if count and first + count > np.int64(table[slot, 1]):
                return 8 * i + _SHORT
            if count:
                source = table[slot, 0] + np.uint64(first * stored)
                _widen(
                    source, np.uint64(out) + np.uint64((i * length + done) * wanted), count, sizes
                )
            done += count
            chunk += 1
    return -1


@compiled(f"void({INDEX}, {INDEX}, int32[:, ::1], int32[:, ::1])")
def _ids(
    document_starts: Int,
    starts: Int,
    segment_ids: NDArray[np.int32],
    position_ids: NDArray[np.int32],
) -> None:
    length = segment_ids.shape[1]
    for i in range(starts.size):
        # The first document that begins behind the window's first token.
        document = np.searchsorted(document_starts, starts[i], side="right")
        done, segment = 0, 0
        while done < length:
            stop = length
            if document < document_starts.size:
                stop = min(length, document_starts[document] - starts[i])
            for j in range(done, stop):
                segment_ids[i, j] = np.int32(segment)
                position_ids[i, j] = np.int32(j - done)
            if stop > done:
                segment += 1
            done = stop
            document += 1
