"""Thrift headers made of anything at all: an error or a value, in bounded time and memory."""

from __future__ import annotations

import contextlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.formats.errors import LimitExceeded, MalformedShard
from forebay.formats.parquet import pages as pages_module
from forebay.formats.parquet.metadata import EncryptedError, read_metadata
from forebay.formats.parquet.pages import walk_pages
from forebay.formats.parquet.thrift import BINARY, LIST, CompactReader, ThriftError

PLACE = {"shard": "s", "block": 0, "offset": 4}


@given(st.binary(max_size=200))
@settings(max_examples=500, deadline=None)
def test_any_bytes_as_headers(data):
    view = memoryview(data)
    with contextlib.suppress(ThriftError, EncryptedError):
        read_metadata(view)
    with contextlib.suppress(MalformedShard):
        walk_pages(view, 10, 1000, **PLACE)


@pytest.mark.parametrize("kind", [BINARY, LIST])
def test_lengths_are_checked_before_they_are_believed(kind):
    huge = b"\xff\xff\xff\xff\x0f"
    data = huge if kind == BINARY else b"\xf5" + huge
    with pytest.raises(ThriftError, match="4294967295 bytes or items announced where 0"):
        CompactReader(memoryview(data)).skip(kind)


def test_deep_nesting_and_endless_numbers():
    with pytest.raises(ThriftError, match="nested deeper"):
        CompactReader(memoryview(b"\x1c" * 100_000)).skip(12)
    with pytest.raises(ThriftError, match="nested deeper"):
        CompactReader(memoryview(b"\x19" * 100_000)).skip(9)
    with pytest.raises(ThriftError, match="longer than 64 bits"):
        CompactReader(memoryview(b"\x80" * 99)).skip(6)


def chunk_of(values):
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"a": values}), sink, compression="zstd", use_dictionary=False, data_page_size=400
    )
    chunk = pq.read_metadata(sink).row_group(0).column(0)
    start = chunk.data_page_offset
    data = sink.getvalue()[start : start + chunk.total_compressed_size]
    return memoryview(data), chunk.num_values, chunk.total_uncompressed_size


def test_pages_add_up_to_the_footer(monkeypatch):
    data, values, size = chunk_of(list(range(5000)))
    found = walk_pages(data, values, size, **PLACE)
    assert found.uncompressed == size
    assert found.pages > 1
    assert not found.has_crc
    with pytest.raises(MalformedShard, match=f"where the footer has {size - 1}"):
        walk_pages(data, values, size - 1, **PLACE)
    with pytest.raises(MalformedShard, match=f"where the footer has {values + 1}"):
        walk_pages(data, values + 1, size, **PLACE)
    with pytest.raises(MalformedShard, match="bytes where"):
        walk_pages(data[:-1], values, size, **PLACE)
    monkeypatch.setattr(pages_module, "MAX_PAGES", found.pages - 1)
    with pytest.raises(LimitExceeded, match="pages in a column chunk"):
        walk_pages(data, values, size, **PLACE)
