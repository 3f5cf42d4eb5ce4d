"""What the shard table says of one shard, and what every format's reader and writer obey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from forebay.formats.block_memory import BlockMemory
from forebay.formats.column import Block
from forebay.formats.record import Schema

NO_CRCS: NDArray[np.uint32] = np.empty(0, np.uint32)


@dataclass(frozen=True, slots=True)
class FileCheck:
    """A file beside a shard (an index, a dictionary) and what checks it whole."""

    file: str
    bytes: int
    crc32c: int


@dataclass(frozen=True, slots=True, eq=False)
class ShardEntry:
    """One row of the shard table.

    Args:
        file: name relative to the dataset's folder.
        format: "parquet" or "recordio".
        codec: configuration of the codec as canonical JSON, see `formats.codecs`.
        bytes: size of the file.
        sha256: hex digest of the whole file; "" for foreign shards.
        block_rows: (blocks,) rows of each block.
        block_bytes: (blocks,) bytes at rest of each block, all columns.
        block_memory: (blocks,) bytes of memory of each block once decompressed, all columns.
        footer_bytes: length of a Parquet footer: metadata, its length and the last magic; else 0.
        footer_crc32c: of these bytes.
        chunk_crc32c: (blocks * leaf columns,) of each Parquet column chunk's raw bytes, block by
            block, leaves in the file's order; empty where the shard has no such checks.
        index: the RecordIO shard's `.index.arrow`.
        key_index: the RecordIO shard's `.idx` for other readers.
        generation: at which the shard was added.
    """

    file: str
    format: str
    codec: str
    records: int
    bytes: int
    sha256: str
    block_rows: NDArray[np.int64]
    block_bytes: NDArray[np.int64]
    block_memory: NDArray[np.int64]
    footer_bytes: int = 0
    footer_crc32c: int = 0
    chunk_crc32c: NDArray[np.uint32] = field(default_factory=lambda: NO_CRCS)
    index: FileCheck | None = None
    key_index: FileCheck | None = None
    generation: int = 1

    @property
    def foreign(self) -> bool:
        """Whether the shard was written by others, so that nothing outside it checks it."""
        return not self.sha256


@dataclass(slots=True)
class ReadTally:
    """What one read cost; a reader adds to it, its caller owns it.

    Seconds are wall time; `bytes` are bytes read at rest, `requests` calls to the store.
    """

    bytes: int = 0
    requests: int = 0
    read_s: float = 0.0
    check_s: float = 0.0
    decompress_s: float = 0.0


class FormatReader(Protocol):
    """Reads blocks out of the shards of one dataset, in one format.

    Safe to call from several threads; picklable; opens nothing before the first read and keeps no
    file descriptor between reads.
    """

    record_readable: bool
    """Whether single rows can be read without their block."""
    memory: BlockMemory
    """Where its blocks' memory comes from, and goes when they are dropped."""

    def cost(
        self, shard: ShardEntry, block: int, columns: Schema, rows: NDArray[np.int64] | None = None
    ) -> tuple[int, int]:
        """(bytes at rest, bytes in memory afterwards) of the `read` with the same arguments.

        While it runs, `read` holds at most their sum; it returns a block of at most the second.
        """
        ...

    def overhead(self, beside: int, limit: int) -> int:
        """Bounds the bytes of indexes and footers kept between reads; returns the bound.

        Args:
            beside: bytes at rest of all indexes and footers of the dataset together.
            limit: bytes that they may take; the bound is less where they are less.
        """
        ...

    def read(
        self,
        shard: ShardEntry,
        block: int,
        columns: Schema,
        rows: NDArray[np.int64] | None = None,
        tally: ReadTally | None = None,
    ) -> Block:
        """One block's columns, every byte checked against what the table or index records.

        Args:
            block: index of the block in the shard.
            rows: only these rows, counted from the block's first, in this order; only where
                `record_readable`.

        Where records have checks of their own, those that are damaged are listed in the block's
        `damaged`, and the others are given.

        Raises:
            ShardError: the bytes are damaged as a whole, truncated, malformed or encrypted.
            StorageError: the store failed.
        """
        ...


class FormatWriter(Protocol):
    """Writes one shard file, and what belongs beside it, into a folder.

    Until `close` returns, nothing that it wrote may be believed. The same blocks and options give
    the same bytes.
    """

    def write(self, block: Block) -> None:
        """Appends one block, which becomes one block of the shard. Empty ones are ignored."""
        ...

    def close(self) -> ShardEntry:
        """Finishes the files, makes them durable (fsync), and describes them."""
        ...

    def abort(self) -> None:
        """Closes and removes everything written; never raises on a half-written shard."""
        ...


def ranges_merged(
    offsets: Sequence[int], lengths: Sequence[int], gap: int
) -> list[tuple[int, int, list[int]]]:
    """Reads that cover these ranges: (offset, length, indices of the ranges inside).

    Two ranges share a read where at most `gap` bytes lie between them. Overlaps are merged.
    """
    order = sorted(range(len(offsets)), key=lambda i: offsets[i])
    merged: list[tuple[int, int, list[int]]] = []
    for i in order:
        start, stop = offsets[i], offsets[i] + lengths[i]
        if merged and start <= merged[-1][0] + merged[-1][1] + gap:
            first, length, inside = merged[-1]
            inside.append(i)
            merged[-1] = (first, max(length, stop - first), inside)
        else:
            merged.append((start, stop - start, [i]))
    return merged
