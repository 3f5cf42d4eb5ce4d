"""Columns that need no Arrow: the same values as through it, in one buffer, and as many faults."""

from __future__ import annotations

import numpy as np
import pytest

from forebay.formats.column import row_at
from forebay.formats.errors import MalformedShard
from forebay.formats.parquet import reader as reader_module
from forebay.formats.parquet.compress import compressions
from forebay.formats.parquet.footer import read_footer
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.record import DTYPES, Schema
from forebay.formats.storage.local import LocalSource
from forebay.kernels.crc import crc32c_ranges
from forebay.kernels.zstd import zstd_version

ZSTD, NONE = '{"id":"zstd","level":3}', '{"id":"none"}'
PLAIN = {d: d for d in DTYPES if d != "bool"}
FIELDS = (
    PLAIN
    | {f"{d}_null": f"{d}?" for d in PLAIN}
    | {"t": "text", "t_null": "text?", "b": "bytes", "b_null": "bytes?", "i": "jpeg"}
)


def records(fields, count=400, seed=1):
    rng = np.random.default_rng(seed)
    for k in range(count):
        row = {}
        for name, spec in fields.items():
            base = spec.rstrip("?")
            if base == "text":
                value = "é" * int(rng.integers(0, 9)) + str(k)
            elif base in ("bytes", "jpeg"):
                value = rng.bytes(int(rng.integers(0, 30)))
            else:
                value = rng.integers(0, 120).astype(base).item()
            row[name] = None if spec.endswith("?") and rng.random() < 0.3 else value
        yield row


@pytest.mark.skipif(not zstd_version(), reason="needs the system's libzstd")
@pytest.mark.parametrize("codec", [ZSTD, NONE])
def test_scalars_text_bytes_and_images_never_reach_arrow(tmp_path, write_shard, codec, monkeypatch):
    schema = Schema.parse(FIELDS)
    rows = list(records(FIELDS))
    entry = write_shard(tmp_path, schema, rows[:150], rows[150:], codec=codec)

    def never(*_):
        raise AssertionError("Arrow was asked")

    monkeypatch.setattr(reader_module, "_decode", never)
    reader = ParquetReader(LocalSource(tmp_path), schema)
    at = 0
    for b in range(2):
        block = reader.read(entry, b, schema)
        for i in range(block.rows):
            assert row_at(schema, block, i) == tuple(rows[at + i].values())
        at += block.rows
        assert block.nbytes <= reader.cost(entry, b, schema)[1]
    some = schema.select(("t", "int64_null", "i"))
    block = reader.read(entry, 1, some)
    assert tuple(block.columns) == ("t", "int64_null", "i")
    assert row_at(some, block, 7) == tuple(rows[157][n] for n in some.names)


def test_both_ways_in_one_read(tmp_path, write_shard):
    fields = {"x": "float32", "flag": "bool", "ids": "uint16[*]", "t": "text?"}
    schema = Schema.parse(fields)
    rows = [
        {"x": k / 2, "flag": k % 3 == 0, "ids": np.arange(k % 5, dtype=np.uint16), "t": str(k)}
        for k in range(100)
    ]
    entry = write_shard(tmp_path, schema, rows)
    block = ParquetReader(LocalSource(tmp_path), schema).read(entry, 0, schema)
    assert tuple(block.columns) == tuple(fields)
    for i in (0, 50, 99):
        x, flag, ids, t = row_at(schema, block, i)
        assert (x, flag, t) == (rows[i]["x"], rows[i]["flag"], rows[i]["t"])
        assert (ids == rows[i]["ids"]).all()


def resealed(entry, folder, at, data):
    """The entry after bytes of the file were changed and all checks made anew."""
    path = folder / entry.file
    raw = bytearray(path.read_bytes())
    raw[at : at + len(data)] = data
    path.write_bytes(raw)
    footer = read_footer(LocalSource(folder), entry)
    chunks = footer.metadata.groups[0].chunks
    starts, lengths = [c.start for c in chunks], [c.length for c in chunks]
    entry.chunk_crc32c[:] = crc32c_ranges(bytes(raw), starts, lengths)
    return chunks


def test_text_that_is_none_is_refused_though_its_checks_hold(tmp_path, write_shard):
    schema = Schema.parse({"n": "int64", "t": "text"})
    entry = write_shard(tmp_path, schema, [{"n": k, "t": "wordy"} for k in range(9)], codec=NONE)
    at = (tmp_path / entry.file).read_bytes().index(b"wordy")
    resealed(entry, tmp_path, at, b"\xff")
    with pytest.raises(MalformedShard, match="'t'"):
        ParquetReader(LocalSource(tmp_path), schema).read(entry, 0, schema)


def test_a_page_that_lies_is_refused_as_arrow_does(tmp_path, write_shard):
    schema = Schema.parse({"t": "bytes"})
    entry = write_shard(tmp_path, schema, [{"t": b"abcdef"}] * 9, codec=NONE)
    at = (tmp_path / entry.file).read_bytes().index(b"\x06\0\0\0abcdef")
    resealed(entry, tmp_path, at, b"\xff\xff\xff\x7f")
    with pytest.raises(MalformedShard):
        ParquetReader(LocalSource(tmp_path), schema).read(entry, 0, schema)


def test_columns_that_hardly_pack_are_kept_as_they_are(tmp_path, write_shard):
    rng = np.random.default_rng(0)
    fields = {"noise": "float64", "count": "int64", "blob": "bytes", "name": "text", "i": "jpeg"}
    schema = Schema.parse(fields)
    rows = [
        {"noise": rng.random(), "count": k, "blob": rng.bytes(20), "name": f"user {k}",
         "i": rng.bytes(90)}
        for k in range(1000)
    ]  # fmt: skip
    entry = write_shard(tmp_path, schema, rows, rows)
    footer = read_footer(LocalSource(tmp_path), entry)
    leaves = {".".join(leaf.path): i for i, leaf in enumerate(footer.metadata.leaves)}
    for group in footer.metadata.groups:
        packed = {name: group.chunks[i].compressed for name, i in leaves.items()}
        # Noise between 0 and 1 has the same exponent half of the time, and packs to 0.94.
        assert packed["count"]
        assert packed["name"]
        assert not packed["noise"]
        assert not packed["blob"]
        assert not packed["i.bytes"]
    few = write_shard(tmp_path, schema, rows[:5], stem="few")
    footer = read_footer(LocalSource(tmp_path), few)
    assert all(c.compressed for c in footer.metadata.groups[0].chunks)


def test_the_same_table_gives_the_same_choice():
    import pyarrow as pa

    table = pa.table({"a": np.random.default_rng(1).random(2000), "b": np.zeros(2000)})
    assert compressions(table, 3) == compressions(table, 3) == {"a": "none", "b": "zstd"}
    assert compressions(table.slice(0, 0), 3) == {"a": "zstd", "b": "zstd"}
