"""The index file, the keys of other readers, and the cache that bounds their memory."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from forebay.formats.errors import (
    ChecksumMismatch,
    MalformedShard,
    ManifestError,
    NewerFormatError,
    TruncatedShard,
)
from forebay.formats.record import Schema
from forebay.formats.recordio.index import (
    VERSION_KEY,
    ShardIndex,
    decode_index,
    decode_keys,
    encode_index,
    encode_keys,
)
from forebay.formats.recordio.index_cache import IndexCache
from forebay.formats.shard import ReadTally
from forebay.formats.storage.local import LocalSource

TEXT = Schema.parse({"t": "text"})


def index_of(**changes):
    columns = {
        "offset": np.array([0, 16]),
        "length": np.array([16, 24]),
        "raw_length": np.array([7, 13]),
        "crc32c": np.array([1, 2], np.uint32),
    }
    return ShardIndex(**(columns | changes))


def decoded(data, size=40, schema=TEXT):
    return decode_index(np.frombuffer(data, np.uint8), "s.rec", size, schema)


def test_round_trip():
    index = decoded(encode_index(index_of(), TEXT))
    assert index.offset.tolist() == [0, 16]
    assert index.length.tolist() == [16, 24]
    assert index.raw_length.tolist() == [7, 13]
    assert index.crc32c.tolist() == [1, 2]
    assert index.nbytes > 0


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": np.array([0, 12])},
        {"offset": np.array([4, 20])},
        {"length": np.array([16, 28])},
        {"length": np.array([18, 22]), "offset": np.array([0, 18])},
        {"length": np.array([4, 36]), "offset": np.array([0, 4])},
        {"raw_length": np.array([7, 1 << 29])},
    ],
)
def test_an_index_that_does_not_fit_its_shard(changes):
    with pytest.raises(MalformedShard, match=r"s\.rec"):
        decoded(encode_index(index_of(**changes), TEXT))


def _file(batches, metadata):
    sink = pa.BufferOutputStream()
    schema = batches[0].schema.with_metadata(metadata)
    with pa.ipc.new_file(sink, schema) as writer:
        for b in batches:
            writer.write_batch(b.replace_schema_metadata(metadata))
    return sink.getvalue().to_pybytes()


def _batch(**changes):
    columns = {
        "offset": pa.array([0, 16], pa.uint64()),
        "length": pa.array([16, 24], pa.uint32()),
        "crc32c": pa.array([1, 2], pa.uint32()),
        "raw_length": pa.array([7, 13], pa.uint32()),
    }
    return pa.record_batch({k: v for k, v in (columns | changes).items() if v is not None})


V1 = {VERSION_KEY: b"1"}


def test_unknown_columns_are_ignored():
    assert len(decoded(_file([_batch(cost=pa.array(["a", "b"]))], V1))) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"ARROW1\0\0",
        _file([_batch()], {}),
        _file([_batch()], {VERSION_KEY: b"one"}),
        _file([_batch(), _batch()], V1),
        _file([_batch(crc32c=None)], V1),
        _file([_batch(length=pa.array([16, 24], pa.int32()))], V1),
        _file([_batch(length=pa.array([16, None], pa.uint32()))], V1),
    ],
)
def test_other_arrow_files_are_refused(data):
    with pytest.raises(MalformedShard, match=r"index\.arrow"):
        decoded(data)


def test_a_shard_with_images_needs_their_sizes():
    with pytest.raises(MalformedShard, match=r"i\.height"):
        decoded(_file([_batch()], V1), schema=Schema.parse({"i": "jpeg"}))


def test_a_newer_index_says_so():
    with pytest.raises(NewerFormatError, match=r"version 2.*upgrade"):
        decoded(_file([_batch()], {VERSION_KEY: b"2"}))


def test_keys():
    data = encode_keys(np.array([0, 16, 40]))
    assert data == b"0\t0\n1\t16\n2\t40\n"
    assert decode_keys(data, "s.rec").tolist() == [0, 16, 40]
    assert decode_keys("ключ\t8\n".encode(), "s.rec").tolist() == [8]


@pytest.mark.parametrize("line", [b"0 16", b"0\t-1", b"0\t", b"0\t1e3", b"0\t" + b"9" * 19])
def test_keys_that_are_none(line):
    with pytest.raises(MalformedShard, match=r"line 2 of its \.idx"):
        decode_keys(b"0\t0\n" + line + b"\n", "s.rec")


def test_the_cache_keeps_within_its_bound(tmp_path, write_shard):
    entries = []
    for i in range(3):
        (tmp_path / str(i)).mkdir()
        made = write_shard(tmp_path / str(i), TEXT, [[("x",)] * 50])
        index = dataclasses.replace(made.index, file=f"{i}/s.index.arrow")
        entries.append(dataclasses.replace(made, file=f"{i}/s.rec", index=index))
    source = LocalSource(tmp_path)
    one = IndexCache(source, {})
    one.get(entries[0], ReadTally())
    cache = IndexCache(source, {}, limit=2 * one.nbytes)
    tally = ReadTally()
    for i in (0, 1, 0, 2, 0):  # 1 is the one to go
        cache.get(entries[i], tally)
        assert cache.nbytes <= 2 * one.nbytes
    assert tally.requests == 3
    cache.get(entries[1], tally)
    assert tally.requests == 4


def test_what_the_table_says_of_the_index_must_hold(tmp_path, write_shard):
    entry = write_shard(tmp_path, TEXT, [[("x",)]])
    cache = IndexCache(LocalSource(tmp_path), {})

    def load(**changes):
        cache.get(dataclasses.replace(entry, **changes), ReadTally())

    larger = dataclasses.replace(entry.index, bytes=1 << 50)
    with pytest.raises(TruncatedShard, match=rf"have {entry.index.bytes} of {1 << 50} bytes"):
        load(index=larger)
    with pytest.raises(ChecksumMismatch, match="index"):
        load(index=dataclasses.replace(entry.index, crc32c=entry.index.crc32c ^ 1))
    with pytest.raises(ManifestError, match="no index"):
        load(index=None)
    with pytest.raises(ManifestError, match="1 records by its index, 2"):
        load(records=2)


def test_an_index_costs_twenty_bytes_a_record(tmp_path, write_shard):
    schema = Schema.parse({"image": "jpeg", "label": "int64"})
    entry = write_shard(tmp_path, schema, [[(b"x", 1)] * 5000])
    cache = IndexCache(LocalSource(tmp_path), {})
    index = cache.get(entry, ReadTally())
    assert cache.nbytes == 20 * 5000 < entry.index.bytes
    columns = (index.offset, index.length, index.raw_length, index.crc32c)
    assert sum(c.nbytes for c in columns) == cache.nbytes
    assert index.images == {}
    text = write_shard(tmp_path, TEXT, [[("x",)] * 5000])
    assert IndexCache(LocalSource(tmp_path), {}).get(text, None).nbytes == text.index.bytes
    assert text.index.bytes < 20 * 5000 + 4096


def test_an_index_that_is_compressed_is_refused():
    zeros = pa.array(np.zeros(100_000), pa.uint64())
    batch = pa.record_batch({"offset": zeros} | {
        name: zeros.cast(pa.uint32()) for name in ("length", "crc32c", "raw_length")
    })  # fmt: skip
    sink = pa.BufferOutputStream()
    schema = batch.schema.with_metadata(V1)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, schema, options=options) as writer:
        writer.write_batch(batch.replace_schema_metadata(V1))
    with pytest.raises(MalformedShard, match="compressed"):
        decoded(sink.getvalue().to_pybytes())


def test_what_cost_loads_is_in_the_next_tally(tmp_path, write_shard, reader_of):
    entry = write_shard(tmp_path, TEXT, [[("x",)] * 50])
    reader = reader_of(tmp_path, TEXT)
    rows = np.array([3])
    reader.cost(entry, 0, TEXT, rows)
    first, second = ReadTally(), ReadTally()
    reader.read(entry, 0, TEXT, rows, first)
    reader.read(entry, 0, TEXT, rows, second)
    assert (first.requests, second.requests) == (2, 1)
    assert first.bytes - second.bytes == entry.index.bytes
    assert second.bytes == reader.cost(entry, 0, TEXT, rows)[0]


def test_overhead_is_what_the_cache_is_bound_to(tmp_path, write_shard, reader_of):
    entries = []
    for i in range(3):
        (tmp_path / str(i)).mkdir()
        made = write_shard(tmp_path / str(i), TEXT, [[("x",)] * 50])
        index = dataclasses.replace(made.index, file=f"{i}/s.index.arrow")
        entries.append(dataclasses.replace(made, file=f"{i}/s.rec", index=index))
    reader = reader_of(tmp_path, TEXT)
    beside = sum(e.index.bytes for e in entries)

    def loads():
        tally = ReadTally()
        for entry in entries * 2:
            reader.read(entry, 0, TEXT, np.array([0]), tally)
        return tally.requests - 6

    assert reader.overhead(beside, 10**9) == 2 * beside
    assert loads() == 3
    assert loads() == 0
    assert reader.overhead(beside, beside // 2) == beside // 2
    assert loads() >= 5
