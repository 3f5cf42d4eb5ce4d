"""Rows of differing size by address: found once, then measured, copied or padded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels import _native
from forebay.kernels.blocks import address_of
from forebay.kernels.spans import check_out, names, report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.kernels.blocks import RaggedBlocks
    from forebay.kernels.spans import Int

__all__ = ["RaggedRows", "find_rows"]


class RaggedRows:
    """Rows that were found, in the order they were named; `find_rows` makes it.

    It keeps their blocks alive. `lengths`, (n,) int64 of elements, is the caller's to read;
    `shorten` alone may change it.
    """

    def __init__(self, blocks: RaggedBlocks, address: NDArray[np.uint64], lengths: Int) -> None:
        self.dtype = blocks.dtype
        self.lengths = lengths
        self._address = address
        self._blocks = blocks

    @property
    def addresses(self) -> NDArray[np.uint64]:
        """(n,) where each row begins, for kernels; good while this lives."""
        return self._address

    def shorten(self, most: int) -> None:
        """Leaves the first `most` elements of each row."""
        np.minimum(self.lengths, max(0, most), out=self.lengths)

    def copy_to(self, out: NDArray[Any], starts: Int) -> int:
        """Copies row i to out[starts[i]:], without the GIL; rows must not overlap there.

        Args:
            out: (elements,) of the rows' dtype, C-contiguous, the caller's.
            starts: (n,) int64, contiguous.

        Returns:
            -1, or what `spans.report` understands: a row does not fit, and nothing was written.
        """
        check_out("gather_ragged", out, self.dtype, ())
        size = self.dtype.itemsize
        return _native.copy_ragged(
            self._address, self.lengths, size, starts, address_of(out), len(out)
        )

    def pad_to(
        self, out: NDArray[Any], starts: Int, widths: Int, *, fill: Any = 0, left: bool = False
    ) -> int:
        """Writes row i to out[starts[i] : starts[i] + widths[i]], without the GIL: its first
        elements and `fill` behind them, or before them if `left`.

        Args:
            out: (elements,) of the rows' dtype, of 1, 2, 4 or 8 bytes an element, C-contiguous, the
                caller's. What is in no span is left alone.
            starts, widths: (n,) int64, contiguous. Spans must not overlap.
            fill: cast to the dtype.

        Returns:
            As `copy_to`.

        Raises:
            ValueError, TypeError: shapes, dtypes or layouts do not go together.
            OverflowError: `fill` does not fit the dtype.
        """
        check_out("pad", out, self.dtype, ())
        size = self.dtype.itemsize
        if size not in (1, 2, 4, 8):
            raise TypeError(f"pad: elements must be of 1, 2, 4 or 8 bytes, got {self.dtype}")
        pattern = int(np.array([fill], self.dtype).view(f"u{size}")[0])
        place, room = address_of(out), len(out)
        return _native.pad_ragged(
            self._address, self.lengths, size, starts, widths, pattern, left, place, room
        )


def find_rows(
    who: str,
    blocks: RaggedBlocks,
    which: NDArray[Any] | None,
    rows: NDArray[Any],
) -> RaggedRows:
    """Where rows rows[i] of blocks which[i] lie, without the GIL.

    Args:
        who: asks, for messages.
        which: (n,) block numbers; None where all rows are of block 0.
        rows: (n,) rows in their blocks, in any order.

    Raises:
        IndexError: a block or row does not exist, or a row's span lies outside the block's values;
            names it.
        ValueError, TypeError: shapes or dtypes do not go together.
    """
    named = names(which, rows, None)
    address, lengths = np.empty(rows.size, np.uint64), np.empty(rows.size, np.int64)
    size = blocks.dtype.itemsize
    code = _native.find_ragged(blocks.table, named[0], named[1], size, address, lengths)
    report(who, code, named)
    return RaggedRows(blocks, address, lengths)
