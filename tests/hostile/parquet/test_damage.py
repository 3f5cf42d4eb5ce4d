"""Damage to our own shards: no byte that a read depends on changes in silence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from forebay.formats.errors import (
    ChecksumMismatch,
    LimitExceeded,
    MalformedShard,
    ShardError,
    TruncatedShard,
)
from forebay.formats.parquet import reader as reader_module
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.storage.memory import MemorySource
from forebay.kernels.crc import crc32c


def read_all(data, entry, schema, columns=None):
    reader = ParquetReader(MemorySource({entry.file: data}), schema)
    wanted = schema.select(columns)
    return [reader.read(entry, i, wanted) for i in range(len(entry.block_rows))]


def test_every_flip_is_refused_and_placed(shard):
    data, entry, schema = shard
    footer = len(data) - entry.footer_bytes
    second = int(entry.block_bytes[0]) + 4
    checked = 0
    # The paths of images are not read; everything between magic and footer belongs to a chunk.
    unread = {i for i in range(4, footer) if _reads_well(data, entry, schema, i)}
    for at in range(4, len(data)):
        if at in unread:
            continue
        bad = bytearray(data)
        bad[at] ^= 1 << at % 8
        with pytest.raises(ShardError) as caught:
            read_all(bytes(bad), entry, schema)
        error = caught.value
        assert error.shard == "small.parquet"
        assert isinstance(error, ChecksumMismatch)
        assert error.offset is not None
        assert error.offset <= at
        if at >= footer:
            assert error.block is None
        else:
            assert error.block == int(at >= second)
            assert "CRC-32C of column '" in str(error)
        checked += 1
    paths = sum(_chunk_lengths(entry, data, "image.path"))
    assert len(unread) == paths
    assert checked == len(data) - 4 - paths


def _reads_well(data, entry, schema, at):
    bad = bytearray(data)
    bad[at] ^= 1 << at % 8
    try:
        read_all(bytes(bad), entry, schema)
    except ShardError:
        return False
    return True


def _chunk_lengths(entry, data, path):
    import io

    import pyarrow.parquet as pq

    metadata = pq.read_metadata(io.BytesIO(data))
    for g in range(metadata.num_row_groups):
        for c in range(metadata.num_columns):
            chunk = metadata.row_group(g).column(c)
            if chunk.path_in_schema == path:
                yield chunk.total_compressed_size


def test_damage_in_a_column_not_asked_for_is_not_seen(shard):
    data, entry, schema = shard
    bad = bytearray(data)
    bad[4 + 30] ^= 1
    with pytest.raises(ChecksumMismatch, match=r"block 0, offset 4: .*image\.bytes"):
        read_all(bytes(bad), entry, schema)
    assert [b.rows for b in read_all(bytes(bad), entry, schema, ["label"])] == [4, 4]


def test_truncation_at_every_length(shard):
    data, entry, schema = shard
    source = MemorySource({})
    reader = ParquetReader(source, schema)
    for length in range(len(data)):
        source.files[entry.file] = data[:length]
        with pytest.raises(TruncatedShard, match=f"have {length} of at least {len(data)} bytes"):
            reader.read(entry, 0, schema)
    source.files[entry.file] = data
    assert reader.read(entry, 1, schema).rows == 4
    # The footer is kept now, so that chunks are missed first.
    for length in range(4, int(entry.block_bytes[0])):
        source.files[entry.file] = data[:length]
        with pytest.raises(TruncatedShard, match=r"small.parquet, block 1.*have \d+ of at least"):
            reader.read(entry, 1, schema)


def test_a_table_that_disagrees_with_the_footer(shard):
    data, entry, schema = shard
    for change in (
        {"block_rows": np.array([4, 5])},
        {"block_rows": np.array([4, 4, 4])},
        {"chunk_crc32c": entry.chunk_crc32c[:-1]},
        {"footer_bytes": 7},
        {"footer_bytes": len(data) + 1},
    ):
        with pytest.raises(MalformedShard, match="shard table"):
            read_all(data, dataclasses.replace(entry, **change), schema)


def test_a_footer_of_the_right_crc_that_says_it_is_longer(shard):
    data, entry, schema = shard
    footer = bytearray(data[-entry.footer_bytes :])
    footer[-8] ^= 1
    bad = data[: -entry.footer_bytes] + bytes(footer)
    with pytest.raises(MalformedShard, match="says that it has"):
        read_all(bad, dataclasses.replace(entry, footer_crc32c=crc32c(bytes(footer))), schema)


def test_a_row_group_too_large_is_refused_before_it_is_read(shard, monkeypatch):
    data, entry, schema = shard
    monkeypatch.setattr(reader_module, "MAX_BLOCK", 1000)
    reader = ParquetReader(MemorySource({entry.file: data}), schema)
    for call in (reader.cost, reader.read):
        with pytest.raises(LimitExceeded, match="more than the 1000 allowed"):
            call(entry, 0, schema)
