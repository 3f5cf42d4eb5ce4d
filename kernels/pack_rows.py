"""Rows of differing size back to back, with what attention over them needs: where each begins, and
for each element its place in its row and the number of its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels.compiled import compiled
from forebay.kernels.gather import gather_ragged, ragged_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.kernels.blocks import RaggedBlocks

__all__ = ["pack_rows"]

_MOST = 2**31 - 1


def pack_rows(
    blocks: RaggedBlocks,
    which: NDArray[Any] | None,
    rows: NDArray[Any],
    out: NDArray[Any],
    *,
    position_ids: NDArray[np.int32] | None = None,
    segment_ids: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Concatenates rows rows[i] of blocks which[i] in order, without the GIL.

    Args:
        which: (n,) block numbers; None where all rows are of block 0.
        rows: (n,) rows in their blocks, in any order.
        out: (room,) of the blocks' dtype, C-contiguous, the caller's, as the next two. What the
            rows leave of it is not written.
        position_ids: (room,) receives 0, 1, 2, ... anew in each row.
        segment_ids: (room,) receives the number of the row in this call.

    Returns:
        cu_seqlens, (n + 1,) int32, new, the caller's: where each row begins, and the total.

    Raises:
        IndexError: a block or row does not exist, its span lies outside the block's values, or the
            rows do not fit `out`; nothing was written.
        ValueError, TypeError: shapes, dtypes or layouts do not go together.
        OverflowError: the rows have 2**31 elements or more, which int32 cannot count.
    """
    for name, ids in (("position_ids", position_ids), ("segment_ids", segment_ids)):
        if ids is not None and (
            ids.dtype != np.int32
            or ids.shape != out.shape
            or not ids.flags.c_contiguous
            or not ids.flags.writeable
        ):
            raise ValueError(
                f"pack_rows: {name} must be writable contiguous int32 of out's shape {out.shape}, "
                f"got {ids.dtype} {ids.shape}"
            )
    edges = np.zeros(rows.size + 1, np.int64)
    np.cumsum(ragged_lengths(blocks, which, rows), out=edges[1:])
    if edges[-1] > _MOST:
        raise OverflowError(f"pack_rows: {edges[-1]} elements are more than int32 counts")
    gather_ragged(blocks, which, rows, out, edges[:-1])
    if position_ids is not None:
        _positions(edges, position_ids)
    if segment_ids is not None:
        _segments(edges, segment_ids)
    return edges.astype(np.int32)


@compiled("void(int64[::1], int32[::1])")
def _positions(edges: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    for i in range(edges.size - 1):
        row = out[edges[i] : edges[i + 1]]
        for j in range(row.size):
            row[j] = np.int32(j)


@compiled("void(int64[::1], int32[::1])")
def _segments(edges: NDArray[np.int64], out: NDArray[np.int32]) -> None:
    for i in range(edges.size - 1):
        out[edges[i] : edges[i + 1]] = np.int32(i)
