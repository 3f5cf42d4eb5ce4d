"""Reads blocks and single records out of RecordIO shards, each checked before it is parsed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.codecs.codec import Codec, codec_of
from forebay.formats.codecs.none import NoCodec
from forebay.formats.column import Block, Column, VarColumn
from forebay.formats.errors import ManifestError
from forebay.formats.recordio.damage import Damage
from forebay.formats.recordio.frame import payloads_of
from forebay.formats.recordio.index_cache import IndexCache
from forebay.formats.recordio.profile import Extent, foreign_layout_of, layout_of, memory_of
from forebay.formats.recordio.selection import numbers_of, reads_of
from forebay.formats.recordio.spans import Spans, decompressed, parsed_of
from forebay.formats.shard import ReadTally, ShardEntry
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from forebay.formats.record import Schema
    from forebay.formats.recordio.gather import Bytes
    from forebay.formats.recordio.index import ShardIndex
    from forebay.formats.storage.source import ByteSource


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
        self._indexes = IndexCache(source, indexes or {})

    def overhead(self, beside: int, limit: int) -> int:
        """The most bytes of indexes kept, to which this also bounds them from now on.

        An index that is larger by itself is kept alone.
        """
        bound = min(2 * beside, limit)
        self._indexes.bound(bound)
        return bound

    def cost(
        self, shard: ShardEntry, block: int, columns: Schema, rows: NDArray[np.int64] | None = None
    ) -> tuple[int, int]:
        """(bytes at rest, bytes in memory) of a read; with `rows` it may load the shard's index.

        What loading it took is added to the tally of the next read.

        Raises:
            ShardError: the index is damaged.
        """
        if rows is None:
            return int(shard.block_bytes[block]), int(shard.block_memory[block])
        if not len(rows):
            return 0, 0
        index = self._indexes.get(shard, None)
        asked = numbers_of(shard, block, rows)
        numbers = np.unique(asked)
        rest = sum(length for _, length, _ in reads_of(index, numbers))
        raw = index.raw_length[numbers]
        # A row asked for twice has its ragged values twice.
        ragged = any(f.kind == "ragged" for f in columns)
        whole = int((index.raw_length[asked] if ragged else raw).sum())
        # `read` refuses what the index says beyond the block's own memory.
        most = int(shard.block_memory[block]) * (len(asked) if ragged else 1)
        extent = Extent(len(rows), rest, min(whole, most), min(int(raw.max()), most))
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

        Records that are not as they were written, or not what the format allows, are listed in the
        block's `damaged`, by their place among the rows returned.

        Raises:
            ChecksumMismatch: the index is not as it was written.
            MalformedShard: the index is not what the format allows, or disagrees with the table.
            TruncatedShard: the file ends too early.
            StorageError: the store failed.
        """
        tally = tally if tally is not None else ReadTally()
        index = self._indexes.get(shard, tally)
        asked = numbers_of(shard, block, rows)
        # A record is read, checked and joined once, however often it is asked for.
        numbers, back = (asked, None) if rows is None else np.unique(asked, return_inverse=True)
        damage = Damage(shard, block, index, numbers)
        records = self._records(self._fetch(damage, tally), damage, tally)
        layout = (foreign_layout_of if shard.foreign else layout_of)(self._schema)
        parsed = parsed_of(layout, records, columns, damage, back)
        places = range(len(asked)) if back is None else back.tolist()
        errors = damage.errors
        damaged = {row: errors[i] for row, i in enumerate(places) if i in errors} if errors else {}
        unchecked = len(asked) - len(damaged) if index.crc32c is None else 0
        return Block(len(asked), parsed, _held(records.data, parsed), unchecked, damaged)

    def _fetch(self, damage: Damage, tally: ReadTally) -> Spans:
        """Reads the framed records and checks the CRC-32C of each."""
        shard, index, numbers = damage.shard, damage.index, damage.numbers
        lengths = index.length[numbers].astype(np.int64)
        reads = reads_of(index, numbers)
        total = sum(length for _, length, _ in reads)
        self._check_charged(damage, total)
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
            found = crc32c_ranges(view, starts, lengths)
            damage.add_checksums(found, index.crc32c[numbers])
            tally.check_s += time.perf_counter() - read
        return Spans(data, starts, lengths)

    def _check_charged(self, damage: Damage, total: int) -> None:
        """Refuses an index that asks for more memory than the shard table says of the block."""
        rest = int(damage.shard.block_bytes[damage.block])
        if total > rest:
            raise damage.whole(
                f"its index places {total} bytes in the block, the shard table {rest}"
            )
        raw = int(damage.index.raw_length[damage.numbers].sum())
        memory = int(damage.shard.block_memory[damage.block])
        if raw > memory and not isinstance(self._codec(damage.shard), NoCodec):
            raise damage.whole(
                f"its index says {raw} bytes of records once decompressed, the shard table "
                f"{memory} bytes of memory for the block"
            )

    def _records(self, fetched: Spans, damage: Damage, tally: ReadTally) -> Spans:
        """The records out of their frames, joined and decompressed."""
        good = damage.good()
        starts, lengths, wrong = payloads_of(
            fetched.data, fetched.starts[good], fetched.lengths[good]
        )
        for row, what in wrong.items():
            damage.add_malformed(int(good[row]), what)
        payloads = Spans.of(fetched.data, good, starts, lengths, len(damage.numbers))
        raw = damage.index.raw_length[damage.numbers].astype(np.int64)
        codec = self._codec(damage.shard)
        if isinstance(codec, NoCodec):
            good = damage.good()
            for i in good[payloads.lengths[good] != raw[good]].tolist():
                what = f"the record has {payloads.lengths[i]} bytes, its index says {raw[i]}"
                damage.add_malformed(i, what)
            return payloads
        began = time.perf_counter()
        out = decompressed(codec, payloads, raw, damage)
        tally.decompress_s += time.perf_counter() - began
        return out

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
