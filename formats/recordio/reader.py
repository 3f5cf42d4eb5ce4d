"""Reads blocks and single records out of RecordIO shards, each checked before it is parsed."""

from __future__ import annotations

import functools
import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.block_memory import BlockMemory, rounded, slack
from forebay.formats.codecs.codec import Codec, codec_of
from forebay.formats.codecs.none import NoCodec
from forebay.formats.column import Block, Column, ObjectColumn, VarColumn
from forebay.formats.errors import ManifestError
from forebay.formats.recordio.damage import Damage, Damages
from forebay.formats.recordio.index_cache import IndexCache
from forebay.formats.recordio.layout import Layout, Spans
from forebay.formats.recordio.profile import Extent, foreign_layout_of, layout_of, memory_of
from forebay.formats.recordio.scattered import Part, read_scattered
from forebay.formats.recordio.selection import GAP, reads_of, selection_of
from forebay.formats.recordio.spans import decompressed, opened, parsed_of
from forebay.formats.shard import ReadTally, ShardEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from forebay.formats.errors import ShardError
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
        self._layouts: dict[bool, Layout] = {}
        self.memory = BlockMemory()

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
            memory = int(shard.block_memory[block])
            return int(shard.block_bytes[block]), memory + 2 * slack(memory)
        if not len(rows):
            return 0, 0
        index = self._indexes.get(shard, None)
        first = int(shard.block_rows[:block].sum())
        numbers = rows + first
        # A bound rather than the reads themselves: this is asked for under a lock.
        rest = int(index.length[numbers].sum()) + GAP * (len(rows) - 1)
        rest = min(rest, int(shard.block_bytes[block]))
        compressed = not isinstance(self._codec(shard), NoCodec)
        raw = int(index.raw_length[numbers].sum()) if compressed else rest
        # A row asked for twice has its values twice; `read` refuses what the index says beyond
        # the block's own memory.
        raw = min(raw, int(shard.block_memory[block]) * len(rows))
        extent = Extent(len(rows), rest, raw, raw)
        return rest, memory_of(extent, columns, compressed) + slack(rest) + slack(raw)

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
        damage = Damage(shard, block, index, selection_of(shard, block, rows))
        records = self._records(damage, tally)
        return self._block(records, damage, damage.chosen.back, columns, shard.foreign)

    def read_rows(
        self,
        wanted: Sequence[tuple[ShardEntry, NDArray[np.int64]]],
        back: NDArray[np.int64] | None,
        columns: Schema,
        tally: ReadTally | None = None,
    ) -> Block:
        """Records from anywhere as one block, whose columns view one buffer of its own.

        Args:
            wanted: shards, and of each (n,) numbers of records in it, ascending, each once.
            back: (rows,) the place of each row asked for among these records; None: as they are.

        Raises:
            As `read`.
        """
        tally = tally if tally is not None else ReadTally()
        parts = [
            Part(shard, self._indexes.get(shard, tally), self._codec(shard), numbers)
            for shard, numbers in wanted
        ]
        take = functools.partial(self.memory.take, brief=True)
        records, damage = read_scattered(self._source, parts, take, tally)
        foreign = any(shard.foreign for shard, _ in wanted)
        return self._block(records, damage, back, columns, foreign)

    def rows_cost(
        self, wanted: Sequence[tuple[ShardEntry, NDArray[np.int64]]], rows: int, columns: Schema
    ) -> tuple[int, int]:
        """(bytes at rest, bytes in memory) of `read_rows` with the same `wanted`, at most.

        Args:
            rows: how many are asked for, those that are asked for twice counted so.
        """
        rest = raw = largest = 0
        for shard, numbers in wanted:
            index = self._indexes.get(shard, None)
            rest += int(index.length[numbers].sum()) + GAP * (len(numbers) - 1)
            raw += int(index.raw_length[numbers].sum())
            largest = max(largest, int(index.raw_length[numbers].max(initial=0)))
        compressed = any(not isinstance(self._codec(shard), NoCodec) for shard, _ in wanted)
        # Values that are asked for twice are held twice where alignment asks for a copy.
        copies = largest * (rows - sum(len(n) for _, n in wanted))
        memory = memory_of(Extent(rows, rest, raw + copies, largest), columns, compressed)
        return rest, memory + slack(rest, brief=True) + slack(raw, brief=True)

    def _block(
        self,
        records: Spans,
        damage: Damage | Damages,
        back: NDArray[np.int64] | None,
        columns: Schema,
        foreign: bool,
    ) -> Block:
        layout = self._layouts.get(foreign)
        if layout is None:
            layout = (foreign_layout_of if foreign else layout_of)(self._schema)
            self._layouts[foreign] = layout
        parsed = parsed_of(layout, records, columns, damage, back, self.memory.take)
        count = damage.count if back is None else len(back)
        damaged: dict[int, ShardError] = {}
        if errors := damage.errors:
            places = range(count) if back is None else back.tolist()
            damaged = {row: errors[i] for row, i in enumerate(places) if i in errors}
        unchecked = count - len(damaged) if foreign else 0
        return Block(count, parsed, _held(records.data, parsed), unchecked, damaged)

    def _records(self, damage: Damage, tally: ReadTally) -> Spans:
        """The records, each checked, out of its frame, joined and decompressed."""
        where, index = damage.chosen.where, damage.index
        codec = self._codec(damage.shard)
        compressed = not isinstance(codec, NoCodec)
        raw = index.raw_length[where]
        framed = self._fetch(damage, compressed, tally)
        began = time.perf_counter()
        payloads = opened(framed, None if compressed else raw, damage)
        checked = time.perf_counter()
        tally.check_s += checked - began
        if not compressed:
            return payloads
        records = decompressed(codec, payloads, raw.astype(np.int64), damage, self.memory.take)
        tally.decompress_s += time.perf_counter() - checked
        return records

    def _fetch(self, damage: Damage, compressed: bool, tally: ReadTally) -> Spans:
        """Reads the framed records into one buffer, in one call of the store."""
        lengths = damage.index.length[damage.chosen.where].astype(np.int64)
        reads = reads_of(damage.index, damage.chosen, lengths)
        _check_charged(damage, reads.nbytes, compressed)
        data = self.memory.take(reads.nbytes)
        began = time.perf_counter()
        if reads.offsets:
            view, at = data.data, [0, *reads.stops]
            outs = [view[a:b] for a, b in itertools.pairwise(at)]
            self._source.read_into(damage.shard.file, reads.offsets, outs)
            tally.requests += 1
        tally.bytes += reads.nbytes
        tally.read_s += time.perf_counter() - began
        return Spans(data, reads.starts, lengths)

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


def _check_charged(damage: Damage, total: int, compressed: bool) -> None:
    """Refuses an index that asks for more memory than the shard table says of the block."""
    block = damage.block or 0
    rest = int(damage.shard.block_bytes[block])
    if total > rest:
        raise damage.whole(f"its index places {total} bytes in the block, the shard table {rest}")
    if not compressed:
        return
    raw = int(damage.index.raw_length[damage.chosen.where].sum())
    memory = int(damage.shard.block_memory[block])
    if raw > memory:
        raise damage.whole(
            f"its index says {raw} bytes of records once decompressed, the shard table "
            f"{memory} bytes of memory for the block"
        )


def _held(data: Bytes, columns: Mapping[str, Column]) -> int:
    """Bytes of memory that these columns keep alive, the buffer that they may view included."""
    whole = _root(data)
    held = max(whole.nbytes, data.nbytes)
    for column in columns.values():
        if isinstance(column, VarColumn):
            held += column.starts.nbytes + column.lengths.nbytes
        if isinstance(column, ObjectColumn) or _root(column.values) is not whole:
            held += rounded(column.nbytes)
        held += 0 if column.valid is None else column.valid.nbytes
    return held


def _root(array: NDArray[Any]) -> NDArray[Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
