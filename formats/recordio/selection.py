"""Which records of a shard are asked for, and the reads that cover them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.shard import ranges_merged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.recordio.gather import Offsets
    from forebay.formats.recordio.index import ShardIndex
    from forebay.formats.shard import ShardEntry

GAP = 4096
"""Bytes that are read and thrown away rather than begin another read."""


def numbers_of(shard: ShardEntry, block: int, rows: NDArray[np.int64] | None) -> Offsets:
    """(rows,) numbers in the shard of the records asked for."""
    blocks = len(shard.block_rows)
    if not 0 <= block < blocks:
        raise IndexError(f"block {block} of shard {shard.file}, which has {blocks}")
    first, count = int(shard.block_rows[:block].sum()), int(shard.block_rows[block])
    if rows is None:
        return np.arange(first, first + count)
    rows = np.asarray(rows, np.int64)
    outside = (rows < 0) | (rows >= count)
    if outside.any():
        raise IndexError(
            f"row {rows[outside][0]} of block {block} of shard {shard.file}, which has {count} rows"
        )
    return first + rows


def reads_of(index: ShardIndex, numbers: Offsets) -> list[tuple[int, int, list[int] | slice]]:
    """The reads that cover records in ascending order: (offset, length, which of them)."""
    if not len(numbers):
        return []
    offsets, lengths = index.offset[numbers], index.length[numbers].astype(np.int64)
    whole = int(offsets[-1] + lengths[-1] - offsets[0])
    if whole == int(lengths.sum()):
        return [(int(offsets[0]), whole, slice(None))]
    return list(ranges_merged(offsets.tolist(), lengths.tolist(), GAP))
