"""All blocks of a dataset in a few arrays, and where each of its rows lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from forebay.formats.shard_table import ShardTable


@dataclass(frozen=True, slots=True, eq=False)
class BlockTable:
    """The B blocks of a dataset, shard by shard; of a filtered one those that have a row of it.

    Args:
        rows: (B,) rows of each.
        first_row: (B + 1,) number of each block's first row in the dataset; last, all rows.
        first_stored: (B,) its number among all rows that are stored.
        kept: (rows,) of each row of a filtered dataset, the row in its block; None: all rows are.
        bytes: (B,) bytes at rest, all columns.
        memory: (B,) bytes in memory, all columns.
        shard: (B,) index of its shard in the shard table.
        in_shard: (B,) its index in the shard.
    """

    rows: NDArray[np.int64]
    first_row: NDArray[np.int64]
    bytes: NDArray[np.int64]
    memory: NDArray[np.int64]
    shard: NDArray[np.int64]
    in_shard: NDArray[np.int64]
    first_stored: NDArray[np.int64]
    kept: NDArray[np.unsignedinteger[Any]] | None = None

    @staticmethod
    def of(table: ShardTable) -> BlockTable:
        """The blocks of a shard table; arrays may view the table."""
        rows = table.flat("block_rows")
        counts = table.blocks_per_shard()
        first_row = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(rows, out=first_row[1:])
        first_block = np.cumsum(counts) - counts
        shard = np.repeat(np.arange(len(counts)), counts)
        return BlockTable(
            rows=rows,
            first_row=first_row,
            bytes=table.flat("block_bytes"),
            memory=table.flat("block_memory"),
            shard=shard,
            in_shard=np.arange(len(rows)) - first_block[shard],
            first_stored=first_row[:-1],
        )

    def only(self, kept: NDArray[np.bool_]) -> BlockTable:
        """Of these blocks, which hold all rows, those that hold a row that is kept.

        Args:
            kept: (rows,) bool.
        """
        counts = np.zeros(len(self) + 1, np.int64)
        np.cumsum(kept, out=(summed := np.empty(len(kept), np.int64)))
        counts[1:] = np.concatenate([[0], summed])[self.first_row[1:]]
        rows = np.diff(counts)
        some = np.flatnonzero(rows)
        numbers = np.flatnonzero(kept)
        inside = numbers - np.repeat(self.first_row[:-1][some], rows[some])
        return BlockTable(
            rows=rows[some],
            first_row=np.concatenate([[0], np.cumsum(rows[some])]),
            bytes=self.bytes[some],
            memory=self.memory[some],
            shard=self.shard[some],
            in_shard=self.in_shard[some],
            first_stored=self.first_stored[some],
            kept=inside.astype(np.min_scalar_type(int(self.rows.max(initial=0)))),
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def total_rows(self) -> int:
        """Rows of all blocks."""
        return int(self.first_row[-1])

    def locate(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(block, row in block) of each of these rows of the dataset, both of the shape of `rows`.

        Raises:
            IndexError: a row is not in [0, total_rows).
        """
        rows = np.asarray(rows, np.int64)
        if rows.size and (int(rows.min()) < 0 or int(rows.max()) >= self.total_rows):
            wrong = int(rows.min()) if int(rows.min()) < 0 else int(rows.max())
            raise IndexError(f"row {wrong} of a dataset of {self.total_rows} rows")
        block = np.searchsorted(self.first_row, rows, side="right") - 1
        if self.kept is not None:
            return block, self.kept[rows].astype(np.int64)
        return block, rows - self.first_row[block]

    def stored(self, blocks: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number among all stored rows of each (block, row in it)."""
        return self.first_stored[blocks] + rows


def joined(tables: Sequence[BlockTable], stored: Sequence[int]) -> BlockTable:
    """The blocks of several datasets, one behind the other. Shards are numbered on.

    Args:
        stored: rows of each dataset, those that are not kept too.
    """
    shards = np.cumsum([0] + [int(t.shard.max(initial=-1)) + 1 for t in tables[:-1]])
    before = np.cumsum([0, *stored[:-1]])
    rows = np.concatenate([t.rows for t in tables])
    kept = None
    if any(t.kept is not None for t in tables):
        kept = np.concatenate([_rows_in_blocks(t) if t.kept is None else t.kept for t in tables])
    return BlockTable(
        rows=rows,
        first_row=np.concatenate([[0], np.cumsum(rows)]),
        bytes=np.concatenate([t.bytes for t in tables]),
        memory=np.concatenate([t.memory for t in tables]),
        shard=np.concatenate([t.shard + n for t, n in zip(tables, shards, strict=True)]),
        in_shard=np.concatenate([t.in_shard for t in tables]),
        first_stored=np.concatenate(
            [t.first_stored + n for t, n in zip(tables, before, strict=True)]
        ),
        kept=kept,
    )


def _rows_in_blocks(table: BlockTable) -> NDArray[np.unsignedinteger[Any]]:
    inside = np.arange(table.total_rows) - np.repeat(table.first_row[:-1], table.rows)
    return inside.astype(np.min_scalar_type(int(table.rows.max(initial=0))))
