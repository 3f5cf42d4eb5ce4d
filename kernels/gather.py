"""Rows out of blocks, each to its own place: the step from resident blocks to a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels import _native
from forebay.kernels.blocks import FixedBlocks, RaggedBlocks, address_of
from forebay.kernels.ragged import find_rows
from forebay.kernels.spans import check_out, names, report

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["gather_fixed", "gather_ragged", "gather_rows", "ragged_lengths"]


def gather_rows(values: NDArray[Any], rows: NDArray[Any], out: NDArray[Any]) -> None:
    """out[i] = values[rows[i]], without the GIL: `gather_fixed` of one block.

    Args:
        values: (rows, *shape), C-contiguous.
        rows: (n,) integers, in any order; negative ones are refused.
        out: (m, *shape) of the same dtype, m >= n, C-contiguous, the caller's.

    Raises:
        IndexError: a row lies outside `values`; names it, and nothing was written.
        ValueError, TypeError: shapes, dtypes or layouts do not go together.
    """
    if values.ndim == 0:
        raise ValueError("gather_rows: values must have rows, got a scalar")
    check_out("gather_rows", out, values.dtype, values.shape[1:])
    named = names(None, rows, None)
    width = values.nbytes // max(1, len(values))
    table = np.array([[address_of(values), len(values), width]], np.uint64)
    code = _native.gather_fixed(table, *named, len(out), width, address_of(out))
    report("gather_rows", code, named)


def gather_fixed(
    blocks: FixedBlocks,
    which: NDArray[Any] | None,
    rows: NDArray[Any],
    places: NDArray[Any] | None,
    out: NDArray[Any],
) -> None:
    """out[places[i]] = row rows[i] of block which[i], without the GIL.

    Args:
        which: (n,) block numbers; None where all rows are of block 0.
        rows: (n,) rows in their blocks, in any order.
        places: (n,) rows of `out`; None for 0 to n - 1.
        out: (m, *shape) of the blocks' dtype, C-contiguous, the caller's.

    Raises:
        IndexError: a block, row or place does not exist; names it, and nothing was written.
        ValueError, TypeError: shapes, dtypes or layouts do not go together.
    """
    named = names(which, rows, places)
    check_out("gather_fixed", out, blocks.dtype, blocks.shape)
    code = _native.gather_fixed(blocks.table, *named, len(out), blocks.row_bytes, address_of(out))
    report("gather_fixed", code, named)


def ragged_lengths(
    blocks: RaggedBlocks, which: NDArray[Any] | None, rows: NDArray[Any]
) -> NDArray[np.int64]:
    """(n,) the number of elements of each row, new, the caller's. Raises as `gather_ragged`."""
    return find_rows("ragged_lengths", blocks, which, rows).lengths


def gather_ragged(
    blocks: RaggedBlocks,
    which: NDArray[Any] | None,
    rows: NDArray[Any],
    out: NDArray[Any],
    out_starts: NDArray[Any],
) -> None:
    """Copies rows of differing size to where each begins in `out`, without the GIL.

    Args:
        which: (n,) block numbers; None where all rows are of block 0.
        rows: (n,) rows in their blocks, in any order.
        out: (elements,) of the blocks' dtype, C-contiguous, the caller's.
        out_starts: (n,) first element of each row in `out`; rows must not overlap there.

    Raises:
        IndexError: a block or row does not exist, its span lies outside the block's values, or it
            does not fit `out`; names it, and nothing was written.
        ValueError, TypeError: shapes, dtypes or layouts do not go together.
    """
    named = names(which, rows, out_starts)
    found = find_rows("gather_ragged", blocks, which, rows)
    report("gather_ragged", found.copy_to(out, named[2]), named)
