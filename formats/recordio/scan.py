"""Foreign .rec files: finding the records by walking the frames, and what they seem to hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.codecs.none import NoCodec
from forebay.formats.errors import DatasetNotFound, MalformedShard, TruncatedShard
from forebay.formats.recordio.frame import (
    FIRST,
    LAST,
    MAGIC_BYTES,
    MAX_PAYLOAD,
    MIDDLE,
    PART_HEADER,
    WHOLE,
    padded,
    part_problem,
)
from forebay.formats.recordio.guess import Guess, Head
from forebay.formats.recordio.index import ShardIndex, decode_keys
from forebay.formats.recordio.profile import Extent, memory_of
from forebay.formats.shard import ShardEntry
from forebay.formats.storage.source import ByteSource, read_all

if TYPE_CHECKING:
    from forebay.formats.record import Schema
    from forebay.formats.recordio.gather import Offsets

_CHUNK = 1 << 20
_HOP = 4096
_LARGE = 1 << 16
_IDX_LINE = 128  # bytes; no sane key is longer


@dataclass(frozen=True, slots=True, eq=False)
class ForeignShard:
    """A .rec of others: its entry (no digest), what it seems to hold, and where its records are."""

    entry: ShardEntry
    schema: Schema
    index: ShardIndex


@dataclass(slots=True)
class _Window:
    """A file read in chunks of bounded size, forwards."""

    source: ByteSource
    key: str
    size: int
    ahead: int = _CHUNK
    data: bytearray = field(default_factory=bytearray)
    start: int = 0

    def take(self, offset: int, count: int) -> bytes:
        """`count` bytes from `offset` on, which the caller knows to exist; fetches `ahead`."""
        if offset < self.start or offset + count > self.start + len(self.data):
            self.data = bytearray(min(max(count, self.ahead), self.size - offset))
            self.start = offset
            self.source.read_into(self.key, [offset], [memoryview(self.data)])
        return bytes(self.data[offset - self.start : offset - self.start + count])


def scan_shard(source: ByteSource, key: str, block_bytes: int = 1 << 20) -> ForeignShard:
    """Walks a .rec that has no index of ours, in memory of a few bytes a record.

    An .idx beside it must name every record's offset; its keys are not used. Blocks are the records
    that begin within the same `block_bytes` of the file.

    Raises:
        TruncatedShard: the file ends inside a record.
        MalformedShard: a part is not framed as it must be, or the .idx disagrees.
        DatasetNotFound: there is no such file.
        StorageError: the store failed.
    """
    window = _Window(source, key, source.size(key))
    guess = Guess()
    offsets: list[int] = []
    raws: list[int] = []
    at = 0
    while at < window.size:
        offsets.append(at)
        at, raw = _walk_record(window, at, guess, len(offsets) - 1)
        raws.append(raw)
        # Large records are hopped over; small ones are read in long runs.
        window.ahead = _CHUNK if raw < _LARGE else _HOP
    offset = np.array(offsets, np.int64)
    # A record of at most MAX_PAYLOAD bytes takes less than twice as much and a word in its frames.
    length = np.diff(offset, append=np.int64(window.size)).astype(np.uint32)[: len(offsets)]
    raw_length = np.array(raws, np.uint32)
    index = ShardIndex(offset, length, raw_length, None, nbytes=16 * len(offsets))
    _compare_keys(source, key, offset)
    schema = guess.schema(len(offsets))
    return ForeignShard(_entry(key, window.size, index, schema, block_bytes), schema, index)


def _walk_record(window: _Window, start: int, guess: Guess, number: int) -> tuple[int, int]:
    """Checks the frames of one record: (where the next begins, bytes of this one joined)."""
    at, raw = start, 0
    head = Head()
    expected: tuple[int, ...] = (WHOLE, FIRST)
    while True:
        if at + PART_HEADER > window.size:
            raise _truncated(window, at + PART_HEADER, number, start)
        words = window.take(at, PART_HEADER)
        magic, lrec = int.from_bytes(words[:4], "little"), int.from_bytes(words[4:], "little")
        cflag, size = lrec >> 29, lrec & MAX_PAYLOAD
        problem = part_problem(magic, cflag, size, expected)
        if not problem and raw + size > MAX_PAYLOAD:
            problem = f"the record has more than {MAX_PAYLOAD} bytes"
        if problem:
            raise MalformedShard(
                f"{problem}; the file is damaged or not RecordIO: restore it from its source",
                shard=window.key,
                record=number,
                offset=at,
            )
        body = at + PART_HEADER
        if body + padded(size) > window.size:
            raise _truncated(window, body + padded(size), number, start)
        head.add(MAGIC_BYTES if cflag in (MIDDLE, LAST) else b"")
        seen = 0
        while head.missing and seen < size:
            piece = window.take(body + seen, min(size - seen, head.missing))
            head.add(piece)
            seen += len(piece)
        raw += size + (4 if cflag in (MIDDLE, LAST) else 0)
        at = body + padded(size)
        if cflag in (WHOLE, LAST):
            break
        expected = (MIDDLE, LAST)
    guess.add(head.first, head.after, raw)
    return at, raw


def _truncated(window: _Window, needed: int, number: int, start: int) -> TruncatedShard:
    return TruncatedShard(
        f"truncated: have {window.size} of {needed} bytes; restore the file from its source",
        shard=window.key,
        record=number,
        offset=start,
    )


def _compare_keys(source: ByteSource, key: str, offset: Offsets) -> None:
    name = key.removesuffix(".rec") + ".idx"
    try:
        size = source.size(name)
    except DatasetNotFound:
        return
    if size > _IDX_LINE * (len(offset) + 1):
        raise MalformedShard(
            f"its .idx has {size} bytes for {len(offset)} records; make the .idx "
            "again, or remove it",
            shard=key,
        )
    named = np.sort(decode_keys(read_all(source, name), key))
    if not np.array_equal(named, offset):
        raise MalformedShard(
            f"its .idx names {len(named)} offsets that are not those of its {len(offset)} records; "
            "make the .idx again, or remove it",
            shard=key,
        )


def _entry(key: str, size: int, index: ShardIndex, schema: Schema, block_bytes: int) -> ShardEntry:
    _, first = np.unique(index.offset // block_bytes, return_index=True)
    rows = np.diff(first, append=len(index)).astype(np.int64)
    lengths, raws = index.length.astype(np.int64), index.raw_length.astype(np.int64)
    framed = np.add.reduceat(lengths, first) if len(first) else lengths
    raw = np.add.reduceat(raws, first) if len(first) else raws
    largest = np.maximum.reduceat(raws, first) if len(first) else raws
    memory = [
        memory_of(Extent(*map(int, sizes)), schema, compressed=False)
        for sizes in zip(rows, framed, raw, largest, strict=True)
    ]
    return ShardEntry(
        file=key,
        format="recordio",
        codec=NoCodec().config,
        records=len(index),
        bytes=size,
        sha256="",
        block_rows=rows,
        block_bytes=framed,
        block_memory=np.array(memory, np.int64),
    )
