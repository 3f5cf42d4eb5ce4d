"""Which records of a shard are asked for, and the reads that cover them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.recordio.gather import starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.recordio.gather import Offsets
    from forebay.formats.recordio.index import ShardIndex
    from forebay.formats.shard import ShardEntry

GAP = 4096
"""Bytes that are read and thrown away rather than begin another read."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Records of a shard, ascending, each once: what one read fetches.

    Args:
        where: of them in the arrays of the shard's index: a slice for a whole block.
        first: number in the shard of the block's first record.
        count: how many they are.
        back: (rows asked for,) the place of each among the records; None where it is its own.
    """

    where: slice | Offsets
    first: int
    count: int
    back: Offsets | None = None

    def number(self, i: int) -> int:
        """The number in the shard of record i of these."""
        return self.first + i if isinstance(self.where, slice) else int(self.where[i])


@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """Reads that cover a selection.

    Args:
        offsets: of each read in the shard, ascending.
        stops: where each ends when they lie one behind the other in one buffer.
        starts: (records,) of each framed record in that buffer.
    """

    offsets: list[int]
    stops: list[int]
    starts: Offsets

    @property
    def nbytes(self) -> int:
        """Bytes that are read, what lies between records included."""
        return self.stops[-1] if self.stops else 0


def selection_of(shard: ShardEntry, block: int, rows: NDArray[np.int64] | None) -> Selection:
    """The records of a block, or of these rows of it; a row asked for twice is read once.

    Raises:
        IndexError: there is no such block, or no such row in it.
    """
    blocks = len(shard.block_rows)
    if not 0 <= block < blocks:
        raise IndexError(f"block {block} of shard {shard.file}, which has {blocks}")
    first, count = int(shard.block_rows[:block].sum()), int(shard.block_rows[block])
    if rows is None:
        return Selection(slice(first, first + count), first, count)
    rows = np.ascontiguousarray(rows, np.int64)
    # Negative ones are above every count once they are taken for unsigned.
    outside = rows.view(np.uint64) >= np.uint64(count)
    if outside.any():
        raise IndexError(
            f"row {rows[outside][0]} of block {block} of shard {shard.file}, which has {count} rows"
        )
    back = None
    if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
        rows, back = np.unique(rows, return_inverse=True)
    return Selection(first + rows, first, len(rows), back)


def reads_of(index: ShardIndex, chosen: Selection, lengths: Offsets) -> Reads:
    """The reads that cover a selection whose framed records have these lengths."""
    if not chosen.count:
        return Reads([], [], np.empty(0, np.int64))
    offsets = index.offset[chosen.where]
    first, last = int(offsets[0]), int(offsets[-1] + lengths[-1])
    if isinstance(chosen.where, slice):
        # Records of a shard lie one behind the other, which the index was checked for.
        return Reads([first], [last - first], offsets - first)
    ends = offsets + lengths
    begins = np.flatnonzero(offsets[1:] > ends[:-1] + GAP) + 1
    if not len(begins):
        return Reads([first], [last - first], offsets - first)
    begins = np.concatenate([[0], begins])
    froms = offsets[begins]
    sizes = np.append(ends[begins[1:] - 1], last) - froms
    shift = np.repeat(froms - starts_of(sizes), np.diff(begins, append=chosen.count))
    return Reads(froms.tolist(), np.cumsum(sizes).tolist(), offsets - shift)
