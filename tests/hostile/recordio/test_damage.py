"""Damaged and hostile shards: refused by name, never a crash, a hang or a wrong row."""

from __future__ import annotations

import dataclasses
import re
import tracemalloc

import numpy as np
import pytest

from forebay.formats.codecs.none import NoCodec
from forebay.formats.codecs.zstd import ZstdCodec
from forebay.formats.column import Block, FixedColumn, VarColumn, row_at
from forebay.formats.errors import (
    ChecksumMismatch,
    ForebayError,
    MalformedShard,
    ManifestError,
    NewerFormatError,
    ShardError,
    TruncatedShard,
)
from forebay.formats.record import Schema
from forebay.formats.recordio.index import decode_index, encode_index
from forebay.formats.recordio.reader import RecordIOReader
from forebay.formats.recordio.scan import scan_shard
from forebay.formats.recordio.writer import RecordIOWriter
from forebay.formats.shard import FileCheck
from forebay.formats.storage.memory import MemorySource
from forebay.kernels.crc import crc32c, crc32c_ranges

MAGIC = b"\x0a\x23\xd7\xce"
IMAGES = Schema.parse({"image": "jpeg", "label": "int32"})
FIELDS = Schema.parse({"n": "int32?", "t": "text", "r": "uint16[*]"})
BODIES = [b"one", b"abcd" + MAGIC + b"ef" + MAGIC[:1], b"", b"the last of them"]


def images():
    body = np.frombuffer(b"".join(BODIES), np.uint8)
    lengths = np.array([len(b) for b in BODIES], np.int64)
    image = VarColumn(body, np.cumsum(lengths) - lengths, lengths)
    return Block(4, {"image": image, "label": FixedColumn(np.arange(4, dtype=np.int32))}, 0)


def fields():
    n = FixedColumn(np.arange(4, dtype=np.int32), np.array([True, False, True, True]))
    t = images().columns["image"]
    r = VarColumn(np.arange(6, dtype=np.uint16), np.array([0, 1, 1, 3]), np.array([1, 0, 2, 3]))
    return Block(4, {"n": n, "t": t, "r": r}, 0)


CASES = {
    "images-none": (IMAGES, images(), NoCodec()),
    "images-zstd": (IMAGES, images(), ZstdCodec(3)),
    "fields-none": (FIELDS, fields(), NoCodec()),
}


@pytest.fixture(params=CASES)
def shard(request, tmp_path):
    schema, block, codec = CASES[request.param]
    writer = RecordIOWriter(tmp_path, "s", schema, codec)
    writer.write(block)
    writer.write(block)
    entry = writer.close()
    return schema, entry, {p.name: p.read_bytes() for p in tmp_path.iterdir()}


def read_all(schema, entry, files, rows=None):
    reader = RecordIOReader(MemorySource(files), schema, {})
    return [reader.read(entry, b, schema, rows) for b in range(len(entry.block_rows))]


def values(schema, block, i):
    """A row as bytes and nulls: its text need not be UTF-8."""
    found = []
    for f in schema:
        column = block.columns[f.name]
        raw = column.values[i] if isinstance(column, FixedColumn) else column.view(i)
        found.append((raw.tobytes(), column.valid is None or bool(column.valid[i])))
    return found


def only_damage(schema, blocks, original):
    """The one row that is damaged, when all others are as they were."""
    found = [(b, row, e) for b, block in enumerate(blocks) for row, e in block.damaged.items()]
    assert len(found) == 1
    for b, block in enumerate(blocks):
        assert block.rows == 4
        for i in range(4):
            if (b, i) != found[0][:2]:
                assert values(schema, block, i) == values(schema, original, i)
    return found[0]


def test_every_byte_of_the_records(shard):
    schema, entry, files = shard
    index = decode_index(np.frombuffer(files["s.index.arrow"], np.uint8), "s", entry.bytes, schema)
    half = int(entry.block_bytes[0])
    (original, _) = read_all(schema, entry, files)
    for at in range(entry.bytes):
        record = int(np.searchsorted(index.offset, at, "right")) - 1
        for flip in (0x01, 0x80, 0xFF):
            bad = bytearray(files["s.rec"])
            bad[at] ^= flip
            blocks = read_all(schema, entry, files | {"s.rec": bytes(bad)})
            b, row, error = only_damage(schema, blocks, original)
            assert isinstance(error, ChecksumMismatch)
            assert (error.shard, error.record, b * 4 + row) == ("s.rec", record, record)
            assert error.offset == index.offset[record]
            assert error.block == b == (at >= half)
            assert re.search(r"is 0x[0-9a-f]{8} where the index has 0x[0-9a-f]{8}", str(error))
        # Single rows are checked too, under their place among those asked for.
        row, block = record % 4, int(at >= half)
        reader = RecordIOReader(MemorySource(files | {"s.rec": bytes(bad)}), schema, {})
        other = (row + 1) % 4
        read = reader.read(entry, block, schema, np.array([other, row, other, row]))
        assert list(read.damaged) == [1, 3]
        assert read.damaged[3].record == record
        assert values(schema, read, 2) == values(schema, original, other)
        assert reader.read(entry, block, schema, np.array([other])).damaged == {}
        assert list(reader.read(entry, block, schema, np.array([row])).damaged) == [0]


def test_every_byte_of_the_index(shard):
    schema, entry, files = shard
    for at in range(entry.index.bytes):
        for flip in (0x01, 0x80, 0xFF):
            bad = bytearray(files["s.index.arrow"])
            bad[at] ^= flip
            with pytest.raises(ChecksumMismatch, match=r"s\.index\.arrow"):
                read_all(schema, entry, files | {"s.index.arrow": bytes(bad)})


def test_every_truncation(shard):
    schema, entry, files = shard
    for name in ("s.rec", "s.index.arrow"):
        for n in range(len(files[name])):
            with pytest.raises(TruncatedShard, match=rf"{name}.*have {n} of "):
                read_all(schema, entry, files | {name: files[name][:n]})


def forged(schema, entry, files, index_bytes):
    """The shard with another index, which the table vouches for."""
    check = FileCheck("s.index.arrow", len(index_bytes), crc32c(index_bytes))
    return dataclasses.replace(entry, index=check), files | {"s.index.arrow": index_bytes}


def test_an_index_that_its_check_vouches_for_is_still_not_believed(shard):
    schema, entry, files = shard
    good = files["s.index.arrow"]
    refused = 0
    for at in range(len(good)):
        for flip in (0x01, 0x40, 0xFF):
            bad = bytearray(good)
            bad[at] ^= flip
            try:
                read_all(schema, *forged(schema, entry, files, bytes(bad)))
            except (MalformedShard, ChecksumMismatch, ManifestError, NewerFormatError):
                refused += 1
    assert refused > len(good) // 4


def test_records_that_their_check_vouches_for_are_still_not_believed(shard):
    schema, entry, files = shard
    rec = files["s.rec"]
    index = decode_index(np.frombuffer(files["s.index.arrow"], np.uint8), "s", len(rec), schema)
    (original, _) = read_all(schema, entry, files)
    refused = wrong = 0
    for at in range(len(rec)):
        for flip in (0x01, 0x40, 0xFF):
            bad = bytearray(rec)
            bad[at] ^= flip
            crcs = crc32c_ranges(bytes(bad), index.offset, index.length)
            other = encode_index(dataclasses.replace(index, crc32c=crcs), schema)
            made = forged(schema, entry, files | {"s.rec": bytes(bad)}, other)
            blocks = read_all(schema, *made)
            for block in blocks:
                for i in range(4):
                    _readable(schema, block, i)
            if any(block.damaged for block in blocks):
                refused += 1
                b, row, e = only_damage(schema, blocks, original)
                assert isinstance(e, MalformedShard)
                record = int(np.searchsorted(index.offset, at, "right")) - 1
                place = (e.block, e.record, e.offset)
                wrong += place != (b, b * 4 + row, index.offset[record])
                wrong += e.record != record
    assert refused > len(rec) // 4
    assert not wrong


def _readable(schema, block, i):
    try:
        row_at(schema, block, i)
    except UnicodeDecodeError:
        assert "t" in schema  # its text was changed on purpose


def test_a_foreign_file_with_any_byte_changed(shard):
    _, _entry, files = shard
    rec = files["s.rec"]
    unplaced = 0
    for at in range(len(rec)):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            bad = bytearray(rec)
            bad[at] ^= flip
            source = MemorySource({"a.rec": bytes(bad)})
            try:
                found = scan_shard(source, "a.rec")
            except ShardError as e:
                unplaced += e.offset is None
                continue
            reader = RecordIOReader(source, found.schema, {}, {"a.rec": found.index})
            for b, rows in enumerate(found.entry.block_rows):
                block = reader.read(found.entry, b, found.schema)
                assert block.unchecked == block.rows == rows
                assert block.damaged == {}
                for i in range(block.rows):
                    row_at(found.schema, block, i)
    assert not unplaced


def test_a_block_of_damaged_records_alone_is_still_a_block(shard):
    schema, entry, files = shard
    for block in read_all(schema, entry, files | {"s.rec": bytes(entry.bytes)}):
        assert list(block.damaged) == [0, 1, 2, 3]
        assert len({e.record for e in block.damaged.values()}) == 4
        for i in range(4):
            for f, value in zip(schema, row_at(schema, block, i), strict=True):
                assert value == 0 if f.kind == "fixed" else len(value) == 0


def test_an_index_may_not_ask_for_more_than_was_charged(shard):
    schema, entry, files = shard
    rec = files["s.rec"]
    index = decode_index(np.frombuffer(files["s.index.arrow"], np.uint8), "s", len(rec), schema)
    huge = dataclasses.replace(index, raw_length=np.full(8, (1 << 29) - 1, np.uint32))
    made = forged(schema, entry, files, encode_index(huge, schema))
    reader = RecordIOReader(MemorySource(made[1]), schema, {})
    rows = np.arange(4)
    tracemalloc.start()
    try:
        for asked in (None, rows, rows[:1]):
            at_most = sum(reader.cost(made[0], 0, schema, asked))
            if "zstd" in entry.codec:
                with pytest.raises(MalformedShard, match=r"bytes of records once decompressed"):
                    reader.read(made[0], 0, schema, asked)
            else:
                block = reader.read(made[0], 0, schema, asked)
                assert len(block.damaged) == block.rows
            assert at_most < 20_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_frame_that_claims_another_size_is_found_before_anything_is_allocated(shard):
    schema, entry, files = shard
    if "zstd" not in entry.codec:
        pytest.skip("no frames of zstd")
    rec = files["s.rec"]
    index = decode_index(np.frombuffer(files["s.index.arrow"], np.uint8), "s", len(rec), schema)
    raw = index.raw_length.copy()
    raw[2] += 1
    other = encode_index(dataclasses.replace(index, raw_length=raw), schema)
    first, second = read_all(schema, *forged(schema, entry, files, other))
    assert list(first.damaged) == [2]
    assert "holds" in str(first.damaged[2])
    assert second.damaged == {}


def test_an_index_that_places_more_in_a_block_than_the_table(shard):
    schema, entry, files = shard
    smaller = dataclasses.replace(entry, block_bytes=entry.block_bytes - 4)
    with pytest.raises(MalformedShard, match=r"block 0: its index places \d+ bytes"):
        read_all(schema, smaller, files)


def test_a_missing_dictionary_is_named(tmp_path):
    writer = RecordIOWriter(tmp_path, "s", FIELDS, ZstdCodec(3, b"word " * 40, "d.zdict"))
    writer.write(fields())
    entry = writer.close()
    files = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(ForebayError, match=r"d\.zdict"):
        read_all(FIELDS, entry, files)


def test_rows_outside_the_block(shard):
    schema, entry, files = shard
    for row in (-1, 4, 1 << 40):
        with pytest.raises(IndexError, match=rf"row {row} of block 0 .*4 rows"):
            read_all(schema, entry, files, np.array([row]))
