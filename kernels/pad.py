"""Rows of differing size as one matrix, padded and cut to its width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels.ragged import find_rows
from forebay.kernels.spans import NO_PLACE, check_out, names, report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.kernels.blocks import RaggedBlocks

__all__ = ["pad"]


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
    check_out("pad", out, blocks.dtype, out.shape[1:])
    width, named = out.shape[1], names(which, rows, places)
    goes = np.arange(rows.size) if places is None else named[2]
    if (outside := np.flatnonzero((goes < 0) | (goes >= len(out)))).size:
        report("pad", 8 * int(outside[0]) + NO_PLACE, named)
    found = find_rows("pad", blocks, which, rows)
    widths = np.full(rows.size, width, np.int64)
    code = found.pad_to(out.reshape(-1), goes * width, widths, fill=fill, left=left)
    report("pad", code, named)
    found.shorten(width)
    return found.lengths
