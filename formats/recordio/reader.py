"""Reads blocks and single records out of RecordIO shards, each checked before it is parsed."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.codecs.codec import Codec, codec_of
from forebay.formats.codecs.none import NoCodec
from forebay.formats.column import Block, Column, VarColumn
from forebay.formats.errors import ChecksumMismatch, MalformedShard, ManifestError
from forebay.formats.recordio.frame import payloads_of
from forebay.formats.recordio.gather import Bytes, Offsets, starts_of
from forebay.formats.recordio.index_cache import INDEX_CACHE_BYTES, IndexCache
from forebay.formats.recordio.layout import RowError
from forebay.formats.recordio.profile import Extent, foreign_layout_of, layout_of, memory_of
from forebay.formats.recordio.selection import numbers_of, reads_of
from forebay.formats.shard import ReadTally, ShardEntry
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from forebay.formats.record import Schema
    from forebay.formats.recordio.index import ShardIndex
    from forebay.formats.storage.source import ByteSource


_REMEDY = "restore the file from its source or write the dataset again"


@dataclass(frozen=True, slots=True, eq=False)
class _Fetched:
    """Where each of the framed records that were read lies in `data`."""

    data: Bytes
    starts: Offsets
    lengths: Offsets


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """What is being read, for messages."""

    shard: ShardEntry
    block: int
    index: ShardIndex

    @contextmanager
    def of(self, numbers: Offsets) -> Iterator[None]:
        """Turns what is wrong with row i into what is wrong with record `numbers[i]`."""
        try:
            yield
        except RowError as e:
            number = int(numbers[e.row])
            raise MalformedShard(
                f"{e.what}; {_REMEDY}",
                shard=self.shard.file,
                block=self.block,
                record=number,
                offset=int(self.index.offset[number]),
            ) from e


class RecordIOReader:
    """A FormatReader of the shards of one dataset.

    Args:
        schema: all fields of the dataset.
        dictionaries: contents of the dictionary files that codecs name.
        indexes: of foreign shards, by file name, as `scan_shard` gave them.
    """

    record_readable: bool = True

    def __init__(
        self,
        source: ByteSource,
        schema: Schema,
        dictionaries: Mapping[str, bytes],
        indexes: Mapping[str, ShardIndex] | None = None,
    ) -> None:
        self._source = source
        self._schema = schema
        self._dictionaries = dict(dictionaries)
        self._codecs: dict[str, Codec] = {}
        self._indexes = IndexCache(source, schema, indexes or {})

    def overhead(self, beside: int) -> int:
        """The most bytes of indexes kept; in memory their numbers are up to twice as wide."""
        return min(INDEX_CACHE_BYTES, 2 * beside)

    def cost(
        self, shard: ShardEntry, block: int, columns: Schema, rows: NDArray[np.int64] | None = None
    ) -> tuple[int, int]:
        """(bytes at rest, bytes in memory) of a read; with `rows` it may load the shard's index.

        Raises:
            ShardError: the index is damaged.
        """
        if rows is None:
            return int(shard.block_bytes[block]), int(shard.block_memory[block])
        if not len(rows):
            return 0, 0
        index = self._indexes.get(shard, ReadTally())
        numbers = np.unique(numbers_of(shard, block, rows))
        rest = sum(length for _, length, _ in reads_of(index, numbers))
        raw = index.raw_length[numbers]
        extent = Extent(len(rows), rest, int(raw.sum()), int(raw.max()))
        if any(f.kind == "ragged" for f in columns):
            # A row asked for twice has its ragged values twice.
            asked = int(index.raw_length[numbers_of(shard, block, rows)].sum())
            extent = Extent(len(rows), rest, asked, int(raw.max()))
        return rest, memory_of(extent, columns, not isinstance(self._codec(shard), NoCodec))

    def read(
        self,
        shard: ShardEntry,
        block: int,
        columns: Schema,
        rows: NDArray[np.int64] | None = None,
        tally: ReadTally | None = None,
    ) -> Block:
        """One block, or some of its rows; the columns view buffers of the block's own.

        Raises:
            ChecksumMismatch: a record, or the index, is not as it was written.
            MalformedShard: a record's bytes are not what the format allows.
            TruncatedShard: the file ends too early.
            StorageError: the store failed.
        """
        tally = tally if tally is not None else ReadTally()
        index = self._indexes.get(shard, tally)
        asked = numbers_of(shard, block, rows)
        if rows is None:
            numbers, back = asked, None
        else:
            # A record is read, checked and joined once, however often it is asked for.
            numbers, back = np.unique(asked, return_inverse=True)
        place = _Place(shard, block, index)
        fetched = self._fetch(place, numbers, tally)
        with place.of(numbers):
            data, starts, lengths = self._records(place, numbers, fetched, tally)
        if back is not None:
            starts, lengths = starts[back], lengths[back]
        layout = foreign_layout_of if shard.foreign else layout_of
        with place.of(asked):
            parsed = layout(self._schema).parse(data, starts, lengths, columns)
        unchecked = len(asked) if index.crc32c is None else 0
        return Block(len(asked), parsed, _held(data, parsed), unchecked)

    def _fetch(self, place: _Place, numbers: Offsets, tally: ReadTally) -> _Fetched:
        """Reads the framed records and checks the CRC-32C of each."""
        shard, index = place.shard, place.index
        lengths = index.length[numbers]
        reads = reads_of(index, numbers)
        total = sum(length for _, length, _ in reads)
        data = aligned_empty(total)
        view = data.data
        starts = np.empty(len(numbers), np.int64)
        outs: list[memoryview] = []
        at = 0
        for offset, length, inside in reads:
            starts[inside] = index.offset[numbers[inside]] - offset + at
            outs.append(view[at : at + length])
            at += length
        began = time.perf_counter()
        if outs:
            self._source.read_into(shard.file, [offset for offset, _, _ in reads], outs)
            tally.requests += 1
        tally.bytes += total
        read = time.perf_counter()
        tally.read_s += read - began
        if index.crc32c is not None:
            found = crc32c_ranges(data.data, starts, lengths)
            expected = index.crc32c[numbers]
            if (found != expected).any():
                row = int(np.argmax(found != expected))
                raise ChecksumMismatch(
                    f"CRC-32C of the framed record is {found[row]:#010x} where the index has "
                    f"{expected[row]:#010x}; {_REMEDY}",
                    shard=shard.file,
                    block=place.block,
                    record=int(numbers[row]),
                    offset=int(index.offset[numbers[row]]),
                )
            tally.check_s += time.perf_counter() - read
        return _Fetched(data, starts, lengths)

    def _records(
        self, place: _Place, numbers: Offsets, fetched: _Fetched, tally: ReadTally
    ) -> tuple[Bytes, Offsets, Offsets]:
        """The records out of their frames, joined and decompressed: (data, starts, lengths)."""
        starts, lengths = payloads_of(fetched.data, fetched.starts, fetched.lengths)
        raw = place.index.raw_length[numbers]
        codec = self._codec(place.shard)
        if isinstance(codec, NoCodec):
            if (lengths != raw).any():
                row = int(np.argmax(lengths != raw))
                raise RowError(
                    row, f"the record has {lengths[row]} bytes, its index says {raw[row]}"
                )
            return fetched.data, starts, lengths
        began = time.perf_counter()
        out = aligned_empty(int(raw.sum()))
        out_starts = starts_of(raw)
        view = fetched.data.data
        spans = zip(
            starts.tolist(), lengths.tolist(), out_starts.tolist(), raw.tolist(), strict=True
        )
        for row, (a, n, b, m) in enumerate(spans):
            try:
                codec.decompress_into(view[a : a + n], out[b : b + m])
            except ValueError as e:
                raise RowError(row, f"the record does not decompress: {e}") from e
        tally.decompress_s += time.perf_counter() - began
        return out, out_starts, raw

    def _codec(self, shard: ShardEntry) -> Codec:
        codec = self._codecs.get(shard.codec)
        if codec is None:
            try:
                codec = codec_of(shard.codec, self._dictionaries)
            except KeyError as e:
                raise ManifestError(
                    f"shard {shard.file} was compressed with the dictionary {e.args[0]!r}, which "
                    "the dataset does not have; restore that file"
                ) from e
            self._codecs[shard.codec] = codec
        return codec


def _held(data: Bytes, columns: Mapping[str, Column]) -> int:
    """Bytes of memory that these columns keep alive, the buffer that they may view included."""
    held = data.nbytes
    for column in columns.values():
        if isinstance(column, VarColumn):
            held += column.starts.nbytes + column.lengths.nbytes
        if not isinstance(column, VarColumn) or column.values is not data:
            held += column.nbytes
        held += 0 if column.valid is None else column.valid.nbytes
    return held
