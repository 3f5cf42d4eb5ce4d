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
    from collections.abc import Callable, Sequence

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
    ranges: tuple[tuple[int, int], ...]

    @property
    def nbytes(self) -> int:
        """Bytes that are read, what lies between chunks included."""
        return sum(length for _, length in self.ranges)


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """The checked bytes of some chunks.

    Args:
        data: (n,) uint8, the ranges of `reads` one behind the other.
        begins: where each range begins in `data`.
    """

    reads: Reads
    data: NDArray[np.uint8]
    begins: tuple[int, ...]

    def place(self, offset: int) -> int:
        """Where byte `offset` of the file lies in `data`.

        Raises:
            ValueError: it was not read.
        """
        for (first, length), begin in zip(self.reads.ranges, self.begins, strict=True):
            if first <= offset < first + length:
                return offset - first + begin
        raise ValueError(f"byte {offset} is in none of the ranges that were read")

    def file(self, size: int) -> ChunkFile:
        """A file of `size` bytes of which only these ranges are there; its reads view `data`."""
        ranges = zip(self.reads.ranges, self.begins, strict=True)
        return ChunkFile(size, [(o, self.data[at : at + n]) for (o, n), at in ranges])


def paths_of(columns: Schema) -> list[str]:
    """The columns as the decoder is asked for them; of images only the bytes."""
    return [f"{f.name}.bytes" if f.kind == "image" else f.name for f in columns]


def leaves_of(footer: Footer, columns: Schema) -> tuple[int, ...]:
    """The leaves that the decoder reads for these columns."""
    wanted = paths_of(columns)
    prefixes = tuple(w + "." for w in wanted)
    names = [".".join(leaf.path) for leaf in footer.metadata.leaves]
    # As the decoder matches them: by the dotted path, so that "a" also takes "a.b".
    return tuple(i for i, n in enumerate(names) if n in wanted or n.startswith(prefixes))


def plan_reads(footer: Footer, shard: ShardEntry, block: int, leaves: Sequence[int]) -> Reads:
    """The reads for these leaves of a row group."""
    group = footer.metadata.groups[block].chunks
    chunks = tuple(group[i] for i in leaves)
    spare = _PADDING if shard.foreign else 0
    lengths = [min(c.length + spare, shard.bytes - c.start) for c in chunks]
    merged = ranges_merged([c.start for c in chunks], lengths, GAP)
    ranges = tuple((start, length) for start, length, _ in merged)
    return Reads(block, chunks, ranges)


def fetch(
    source: ByteSource,
    shard: ShardEntry,
    reads: Reads,
    tally: ReadTally | None,
    footer: Footer,
    take: Callable[[int], NDArray[np.uint8]] = aligned_empty,
) -> Fetched:
    """The chunks' bytes, each chunk checked against the CRC-32C that the shard table has of it.

    Args:
        take: where the buffer comes from; it is the caller's.

    Raises:
        ChecksumMismatch: a chunk is damaged; names the first.
        TruncatedShard: the file ends before a chunk does.
        StorageError: the store failed.
    """
    started = time.perf_counter()
    # Each range begins aligned, for page headers and small columns are read fastest so.
    begins, size = [], 0
    for _, length in reads.ranges:
        begins.append(size)
        size += -(-length // 64) * 64
    fetched = Fetched(reads, take(size), tuple(begins))
    view = fetched.data.data
    outs = [view[at : at + n] for at, (_, n) in zip(begins, reads.ranges, strict=True)]
    try:
        source.read_into(shard.file, [offset for offset, _ in reads.ranges], outs)
    except TruncatedShard as e:
        raise TruncatedShard(e.what, shard=e.shard, offset=e.offset, block=reads.block) from e
    read = time.perf_counter()
    if not shard.foreign:
        _check(shard, fetched, footer)
    if tally is not None:
        tally.bytes += reads.nbytes
        tally.requests += len(reads.ranges)
        tally.read_s += read - started
        tally.check_s += time.perf_counter() - read
    return fetched


def _check(shard: ShardEntry, fetched: Fetched, footer: Footer) -> None:
    chunks = fetched.reads.chunks
    if not chunks:
        return
    starts = np.array([fetched.place(c.start) for c in chunks], np.int64)
    lengths = np.array([c.length for c in chunks], np.int64)
    leaves = len(shard.chunk_crc32c) // max(1, len(shard.block_rows))
    at = fetched.reads.block * leaves
    recorded = shard.chunk_crc32c[[at + c.leaf for c in chunks]]
    found = crc32c_ranges(fetched.data.data, starts, lengths)
    wrong = np.flatnonzero(found != recorded)
    if len(wrong):
        i = int(wrong[0])
        name = ".".join(footer.metadata.leaves[chunks[i].leaf].path)
        raise ChecksumMismatch(
            f"the CRC-32C of column {name!r}, {chunks[i].length} bytes, is "
            f"{int(found[i]):08x}, recorded is {int(recorded[i]):08x}; restore the file from its "
            "source or write the dataset again",
            shard=shard.file,
            block=fetched.reads.block,
            offset=chunks[i].start,
        )
