"""The column chunks of one read: which they are, fetched in few requests, checked at once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.errors import ChecksumMismatch, TruncatedShard
from forebay.formats.parquet.chunk_file import ChunkFile
from forebay.formats.shard import ReadTally, ShardEntry, ranges_merged
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.parquet.footer import Footer
    from forebay.formats.parquet.metadata import Chunk
    from forebay.formats.record import Schema
    from forebay.formats.storage.source import ByteSource

# A request costs more than reading this much; between chunks of one row group.
GAP = 1 << 16
# Old writers give chunks a few bytes too short (PARQUET-816), for which decoders read on.
_PADDING = 100


@dataclass(frozen=True, slots=True)
class Reads:
    """The chunks of one row group that a read needs, and the (offset, length) that cover them."""

    block: int
    chunks: tuple[Chunk, ...]
    names: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]

    @property
    def nbytes(self) -> int:
        """Bytes that are read, what lies between chunks included."""
        return sum(length for _, length in self.ranges)


def paths_of(columns: Schema) -> list[str]:
    """The columns as the decoder is asked for them; of images only the bytes."""
    return [f"{f.name}.bytes" if f.kind == "image" else f.name for f in columns]


def plan_reads(footer: Footer, shard: ShardEntry, block: int, columns: Schema) -> Reads:
    """The reads for these columns of a row group."""
    wanted = paths_of(columns)
    prefixes = tuple(w + "." for w in wanted)
    names = [".".join(leaf.path) for leaf in footer.metadata.leaves]
    # As the decoder matches them: by the dotted path, so that "a" also takes "a.b".
    taken = [i for i, n in enumerate(names) if n in wanted or n.startswith(prefixes)]
    chunks = tuple(footer.metadata.groups[block].chunks[i] for i in taken)
    spare = _PADDING if shard.foreign else 0
    lengths = [min(c.length + spare, shard.bytes - c.start) for c in chunks]
    merged = ranges_merged([c.start for c in chunks], lengths, GAP)
    ranges = tuple((start, length) for start, length, _ in merged)
    return Reads(block, chunks, tuple(names[i] for i in taken), ranges)


def fetch(
    source: ByteSource, shard: ShardEntry, reads: Reads, tally: ReadTally | None
) -> ChunkFile:
    """The chunks' bytes, each chunk checked against the CRC-32C that the shard table has of it.

    Returns:
        A file whose ranges are 64-byte-aligned buffers of its own.

    Raises:
        ChecksumMismatch: a chunk is damaged; names the first.
        TruncatedShard: the file ends before a chunk does.
        StorageError: the store failed.
    """
    started = time.perf_counter()
    buffers = [aligned_empty(length) for _, length in reads.ranges]
    try:
        source.read_into(
            shard.file, [offset for offset, _ in reads.ranges], [b.data for b in buffers]
        )
    except TruncatedShard as e:
        raise TruncatedShard(e.what, shard=e.shard, offset=e.offset, block=reads.block) from e
    fetched = time.perf_counter()
    offsets = [offset for offset, _ in reads.ranges]
    if not shard.foreign:
        for (offset, _), buffer in zip(reads.ranges, buffers, strict=True):
            _check(shard, reads, offset, buffer)
    if tally is not None:
        tally.bytes += reads.nbytes
        tally.requests += len(reads.ranges)
        tally.read_s += fetched - started
        tally.check_s += time.perf_counter() - fetched
    return ChunkFile(shard.bytes, list(zip(offsets, buffers, strict=True)))


def _check(shard: ShardEntry, reads: Reads, offset: int, buffer: NDArray[np.uint8]) -> None:
    inside = [
        (chunk, name)
        for chunk, name in zip(reads.chunks, reads.names, strict=True)
        if offset <= chunk.start and chunk.start + chunk.length <= offset + len(buffer)
    ]
    starts = np.array([c.start - offset for c, _ in inside], np.int64)
    lengths = np.array([c.length for c, _ in inside], np.int64)
    leaves = len(shard.chunk_crc32c) // max(1, len(shard.block_rows))
    recorded = shard.chunk_crc32c[[reads.block * leaves + c.leaf for c, _ in inside]]
    found = crc32c_ranges(buffer.data, starts, lengths)
    wrong = np.flatnonzero(found != recorded)
    if len(wrong):
        i = int(wrong[0])
        chunk, name = inside[i]
        raise ChecksumMismatch(
            f"the CRC-32C of column {name!r}, {chunk.length} bytes, is "
            f"{int(found[i]):08x}, recorded is {int(recorded[i]):08x}; restore the file from its "
            "source or write the dataset again",
            shard=shard.file,
            block=reads.block,
            offset=chunk.start,
        )
