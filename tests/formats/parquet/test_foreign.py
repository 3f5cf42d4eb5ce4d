"""Files that others wrote are read right, or refused as documented."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forebay.formats.column import VarColumn, row_at
from forebay.formats.errors import (
    ChecksumMismatch,
    EncryptedShard,
    MalformedShard,
    TruncatedShard,
)
from forebay.formats.parquet.describe import describe
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.storage.local import LocalSource
from forebay.formats.storage.memory import MemorySource

READABLE = [
    # file, rows whose pages carry no checksum
    ("alltypes_plain.parquet", True),
    ("alltypes_tiny_pages.parquet", True),
    ("binary.parquet", True),
    ("byte_stream_split.zstd.parquet", True),
    ("datapage_v1-snappy-compressed-checksum.parquet", False),
    ("delta_byte_array.parquet", True),
    ("int32_with_null_pages.parquet", False),
    ("lz4_raw_compressed.parquet", True),
    ("nested_lists.snappy.parquet", True),
    ("nulls.snappy.parquet", True),
    ("sort_columns.parquet", True),
]


def rows_of(source, key):
    """All rows, and how many of them no checksum covers."""
    schema, entry = describe(source, key)
    reader = ParquetReader(source, schema)
    rows, unchecked = [], 0
    for i in range(len(entry.block_rows)):
        block = reader.read(entry, i, schema)
        rest, memory = reader.cost(entry, i, schema)
        assert block.nbytes <= memory
        assert rest <= entry.bytes
        unchecked += block.unchecked
        rows += [row_at(schema, block, j) for j in range(block.rows)]
    return schema, rows, unchecked


def plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    return "nan" if isinstance(value, float) and value != value else value


@pytest.mark.parametrize(("file", "unchecked"), READABLE)
def test_values_are_those_that_pyarrow_reads(shared_data, file, unchecked):
    folder = shared_data / "parquet"
    schema, rows, counted = rows_of(LocalSource(folder), file)
    table = pq.ParquetFile(folder / file).read(use_threads=False)
    assert list(schema.names) == table.column_names
    want = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
    assert [tuple(map(plain, r)) for r in rows] == [tuple(map(plain, r)) for r in want]
    assert counted == (table.num_rows if unchecked else 0)


def test_wrong_page_checksum_is_refused(shared_data):
    source = LocalSource(shared_data / "parquet")
    with pytest.raises(MalformedShard, match=r"corrupt-checksum.parquet, block 0.*CRC"):
        rows_of(source, "datapage_v1-corrupt-checksum.parquet")


def test_encrypted_footer_is_named(shared_data):
    source = LocalSource(shared_data / "parquet")
    with pytest.raises(EncryptedShard, match="footer is encrypted, and forebay takes no keys"):
        describe(source, "uniform_encryption.parquet.encrypted")


def memory_file(table, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def test_dictionaries_of_strings_are_not_expanded():
    words = ["x" * 50_000, None, "é", ""] * 500
    data = memory_file(pa.table({"t": words}))
    source = MemorySource({"a.parquet": data})
    schema, entry = describe(source, "a.parquet")
    block = ParquetReader(source, schema).read(entry, 0, schema)
    column = block.columns["t"]
    assert isinstance(column, VarColumn)
    assert column.nbytes < 60_000
    assert [row_at(schema, block, i)[0] for i in range(2000)] == words
    assert block.nbytes <= entry.block_memory[0]


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}])
def test_nulls_slices_and_large_types(options):
    table = pa.table(
        {
            "i8": pa.array([1, None, 3], pa.int8()),
            "flag": pa.array([None, True, False]),
            "h": pa.array([1.5, None, 2.5], pa.float16()),
            "t": pa.array([None, "é", ""], pa.large_string()),
            "b": pa.array([b"", None, b"\0x"], pa.large_binary()),
            "l": pa.array([[1, 2], None, []], pa.large_list(pa.int16())),
            "f": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)),
            "image": pa.array(
                [{"bytes": b"i", "path": None}, None, {"bytes": None, "path": "p"}],
                pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
            ),
        }
    )
    source = MemorySource({"a.parquet": memory_file(table, **options)})
    _, rows, unchecked = rows_of(source, "a.parquet")
    assert unchecked == 3
    assert [tuple(map(plain, r)) for r in rows] == [
        (1, None, 1.5, None, b"", [1, 2], [1.0, 2.0], b"i"),
        (None, True, None, "é", None, None, None, None),
        (3, False, 2.5, "", b"\0x", [], [3.0, 4.0], None),
    ]


def test_checksums_of_others_are_counted_as_checks():
    table = pa.table({"a": [1, 2, 3]})
    source = MemorySource({"a.parquet": memory_file(table, write_page_checksum=True)})
    assert rows_of(source, "a.parquet")[2] == 0


def test_null_inside_lists():
    table = pa.table({"f": pa.array([[1.0, None]]), "i": pa.array([[1, None]])})
    source = MemorySource({"a.parquet": memory_file(table)})
    schema, entry = describe(source, "a.parquet")
    reader = ParquetReader(source, schema)
    floats = schema.select(["f"])
    (got,) = row_at(floats, reader.read(entry, 0, floats), 0)
    assert np.array_equal(got, [1.0, np.nan], equal_nan=True)
    with pytest.raises(MalformedShard, match=r"block 0: column 'i' has a null inside a list"):
        reader.read(entry, 0, schema)


def test_text_that_is_not_utf8():
    data = memory_file(pa.table({"t": ["abcdefgh"]}), use_dictionary=False, compression="none")
    source = MemorySource({"a.parquet": data.replace(b"abcdefgh", b"abc\xffefgh")})
    with pytest.raises(MalformedShard, match=r"'t'.*UTF8"):
        rows_of(source, "a.parquet")


def test_files_without_rows():
    table = pa.table({"a": pa.array([], pa.int64()), "t": pa.array([], pa.string())})
    for data in (memory_file(table), memory_file(table.slice(0, 0), use_dictionary=False)):
        schema, rows, unchecked = rows_of(MemorySource({"a": data}), "a")
        assert schema.names == ("a", "t")
        assert (rows, unchecked) == ([], 0)


def test_names_with_dots():
    table = pa.table({"a.b": [1], "a": pa.array([{"b": 2}])})
    source = MemorySource({"a.parquet": memory_file(table)})
    assert rows_of(source, "a.parquet")[1] == [(1, {"b": 2})]


def test_a_shard_that_changed_since_it_was_opened():
    files = {"a.parquet": memory_file(pa.table({"a": [1, 2, 3]}))}
    source = MemorySource(files)
    schema, entry = describe(source, "a.parquet")
    source.files["a.parquet"] = memory_file(pa.table({"a": [9, 2, 3]}))
    with pytest.raises(ChecksumMismatch, match="open the dataset again"):
        ParquetReader(source, schema).read(entry, 0, schema)


def test_a_shard_of_another_schema():
    source = MemorySource(
        {"a": memory_file(pa.table({"a": [1]})), "b": memory_file(pa.table({"a": ["x"]}))}
    )
    schema, _ = describe(source, "a")
    _, entry = describe(source, "b")
    with pytest.raises(MalformedShard, match=r"shard b: field 'a' is text\? in this shard, int64"):
        ParquetReader(source, schema).read(entry, 0, schema)


def test_not_parquet_and_cut_short():
    data = memory_file(pa.table({"a": list(range(1000))}))
    for cut in (0, 5, 11, 12, 500, len(data) - 1):
        with pytest.raises(TruncatedShard, match=f"have {cut} "):
            describe(MemorySource({"a": data[:cut]}), "a")
    with pytest.raises(MalformedShard, match="ends in b'ello'"):
        describe(MemorySource({"a": b"hello" * 9}), "a")
    footer = data[-(int.from_bytes(data[-8:-4], "little") + 8) :]
    with pytest.raises(TruncatedShard, match="of at least"):
        describe(MemorySource({"a": b"PAR1" + footer}), "a")
