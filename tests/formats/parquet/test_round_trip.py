"""What is written is what is read, by us and by pyarrow."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay.formats.codecs.zstd import ZstdCodec
from forebay.formats.column import Block, FixedColumn, VarColumn, row_at
from forebay.formats.errors import LimitExceeded, SchemaError
from forebay.formats.parquet.describe import describe
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import DTYPES, Schema
from forebay.formats.shard import ReadTally
from forebay.formats.storage.local import LocalSource

CODECS = ['{"id":"none"}', '{"id":"zstd","level":1}']


def numbers(dtype):
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return st.booleans()
    if kind.kind == "f":
        return st.floats(width=kind.itemsize * 8, allow_nan=False)
    info = np.iinfo(kind)
    return st.integers(int(info.min), int(info.max))


@st.composite
def fields(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.sampled_from(["", "[1]", "[3]", "[2,3]", "[*]"]))
    base = draw(st.sampled_from(["jpeg", "bytes", "text", dtype + shape]))
    return base + draw(st.sampled_from(["", "?"]))


def values(spec):
    base = spec.rstrip("?")
    if base in ("jpeg", "bytes"):
        value = st.binary(max_size=40)
    elif base == "text":
        value = st.text(max_size=20)
    else:
        dtype, _, shape = base.partition("[")
        shape = shape.rstrip("]")
        if not shape:
            return _nullable(numbers(dtype), spec)
        size = None if shape == "*" else int(np.prod([int(d) for d in shape.split(",")]))
        lists = st.lists(numbers(dtype), min_size=size or 0, max_size=size or 7)
        dims = (-1,) if size is None else tuple(int(d) for d in shape.split(","))
        value = lists.map(lambda v: np.array(v, dtype).reshape(dims))
    return _nullable(value, spec)


def _nullable(value, spec):
    return st.none() | value if spec.endswith("?") else value


@st.composite
def shards(draw):
    specs = draw(st.lists(fields(), min_size=1, max_size=4))
    spec = {f"f{i}é": s for i, s in enumerate(specs)}
    record = st.fixed_dictionaries({n: values(s) for n, s in spec.items()})
    return spec, draw(st.lists(st.lists(record, max_size=9), max_size=3))


def same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


@given(shards(), st.sampled_from(CODECS))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_kind_comes_back(write_shard, shard, codec):
    spec, blocks = shard
    schema = Schema.parse(spec)
    with tempfile.TemporaryDirectory() as folder:
        entry = write_shard(Path(folder), schema, *blocks, codec=codec)
        written = [b for b in blocks if b]
        assert entry.block_rows.tolist() == [len(b) for b in written]
        assert entry.records == sum(map(len, written))
        source = LocalSource(folder)
        reader = ParquetReader(source, schema)
        for i, records in enumerate(written):
            block = reader.read(entry, i, schema)
            assert block.unchecked == 0
            rest, memory = reader.cost(entry, i, schema)
            paths = any(f.kind == "image" for f in schema)  # which are not read
            assert rest == entry.block_bytes[i] or (paths and rest < entry.block_bytes[i])
            assert block.nbytes <= entry.block_memory[i] <= memory
            for j, record in enumerate(records):
                got = row_at(schema, block, j)
                assert all(same(g, record[n]) for g, n in zip(got, schema.names, strict=True))
        again, foreign = describe(source, entry.file)
        assert again == schema
        assert foreign.foreign
        assert foreign.footer_crc32c == entry.footer_crc32c
        table = pq.read_table(Path(folder, entry.file), page_checksum_verification=True)
        table.validate(full=True)
        assert table.num_rows == entry.records


def test_same_blocks_give_the_same_bytes(tmp_path, write_shard):
    schema = Schema.parse({"image": "jpeg", "label": "int64", "t": "text?"})
    records = [
        {"image": bytes([i]) * 99, "label": i, "t": None if i % 3 else "é"} for i in range(9)
    ]
    one = write_shard(tmp_path, schema, records[:5], records[5:], stem="a")
    two = write_shard(tmp_path, schema, records[:5], records[5:], stem="b")
    assert one.sha256 == two.sha256
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_entry_describes_the_file(tmp_path, write_shard):
    import hashlib

    schema = Schema.parse({"image": "jpeg", "label": "int64"})
    entry = write_shard(tmp_path, schema, [{"image": b"x" * 50, "label": 1}])
    data = (tmp_path / "shard.parquet").read_bytes()
    assert entry.bytes == len(data)
    assert entry.sha256 == hashlib.sha256(data).hexdigest()
    assert entry.footer_bytes == int.from_bytes(data[-8:-4], "little") + 8
    group = pq.read_metadata(tmp_path / "shard.parquet").row_group(0)
    chunks = [group.column(i) for i in range(3)]
    assert entry.block_bytes.tolist() == [sum(c.total_compressed_size for c in chunks)]
    assert len(entry.chunk_crc32c) == 3
    assert [c.is_stats_set for c in chunks] == [False, False, True]
    assert {e for c in chunks for e in c.encodings} <= {"PLAIN", "RLE"}


def test_only_the_columns_asked_for_are_read(tmp_path, write_shard):
    schema = Schema.parse({"big": "bytes", "label": "int64", "image": "jpeg"})
    record = {"big": b"b" * 300_000, "label": 7, "image": (b"i" * 1000, "ä.jpg")}
    entry = write_shard(tmp_path, schema, [record], codec=CODECS[0])
    reader = ParquetReader(LocalSource(tmp_path), schema)
    wanted = schema.select(["image", "label"])
    tally = ReadTally()
    block = reader.read(entry, 0, wanted, tally=tally)
    assert list(block.columns) == ["image", "label"]
    assert row_at(wanted, block, 0) == (b"i" * 1000, 7)
    assert tally.bytes < 3000 + entry.footer_bytes
    assert reader.read(entry, 0, Schema(())).rows == 1
    assert pq.read_table(tmp_path / entry.file)["image"].to_pylist()[0]["path"] == "ä.jpg"


def test_columns_view_the_decoders_buffers(tmp_path, write_shard):
    schema = Schema.parse({"label": "int64", "x": "float32[4]"})
    records = [{"label": i, "x": np.ones(4, np.float32)} for i in range(10)]
    entry = write_shard(tmp_path, schema, records)
    block = ParquetReader(LocalSource(tmp_path), schema).read(entry, 0, schema)
    for column in block.columns.values():
        assert isinstance(column, FixedColumn)
        assert not column.values.flags.owndata


def test_values_out_of_order_and_with_holes(tmp_path):
    schema = Schema.parse({"b": "bytes"})
    data = np.frombuffer(b"abcdefgh", np.uint8)
    column = VarColumn(data, np.array([6, 0, 3]), np.array([2, 1, 2]))
    writer = ParquetWriter(tmp_path, "s", schema, ZstdCodec())
    writer.write(Block(3, {"b": column}, 8))
    entry = writer.close()
    block = ParquetReader(LocalSource(tmp_path), schema).read(entry, 0, schema)
    assert [row_at(schema, block, i) for i in range(3)] == [(b"gh",), (b"a",), (b"de",)]


def test_codec_with_a_dictionary_is_refused(tmp_path):
    codec = ZstdCodec(3, b"words", "zstd.dictionary")
    with pytest.raises(ValueError, match="no zstd dictionary"):
        ParquetWriter(tmp_path, "s", Schema.parse({"a": "int8"}), codec)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("spec", ["float32[0]", "int8[65536,65536]"])
def test_shapes_that_parquet_cannot_hold(tmp_path, spec):
    with pytest.raises(SchemaError, match="elements"):
        ParquetWriter(tmp_path, "s", Schema.parse({"a": spec}), ZstdCodec())
    assert not list(tmp_path.iterdir())


def test_a_column_above_one_gibibyte_is_refused_before_it_is_copied(tmp_path):
    schema = Schema.parse({"b": "bytes"})
    values = np.broadcast_to(np.zeros(1, np.uint8), (1 << 30) + 1)
    column = VarColumn(values, np.zeros(1, np.int64), np.array([values.size]))
    writer = ParquetWriter(tmp_path, "s", schema, ZstdCodec())
    with pytest.raises(LimitExceeded, match="1073741825 bytes"):
        writer.write(Block(1, {"b": column}, 0))
    writer.abort()
    assert not list(tmp_path.iterdir())


def test_nulls_and_wrong_columns_are_refused(tmp_path):
    schema = Schema.parse({"a": "int64"})
    writer = ParquetWriter(tmp_path, "s", schema, ZstdCodec())
    nulls = FixedColumn(np.zeros(2, np.int64), np.array([True, False]))
    for columns, match in (
        ({"a": nulls}, "has nulls"),
        ({}, "no such column"),
        ({"a": FixedColumn(np.zeros(2, np.int32))}, "not int64"),
        ({"a": FixedColumn(np.zeros(3, np.int64))}, "3 values"),
    ):
        with pytest.raises(SchemaError, match=match):
            writer.write(Block(2, columns, 0))
    writer.abort()
    writer.abort()


def test_rows_and_blocks_that_are_not_there(tmp_path, write_shard):
    schema = Schema.parse({"a": "int64"})
    entry = write_shard(tmp_path, schema, [{"a": 1}])
    reader = ParquetReader(LocalSource(tmp_path), schema)
    with pytest.raises(ValueError, match="leave rows out"):
        reader.read(entry, 0, schema, np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="got block 1"):
        reader.read(entry, 1, schema)
