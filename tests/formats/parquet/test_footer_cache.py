"""Footers are read once, kept within bounds, and left behind by pickling and forking."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

from forebay.formats.parquet.footer_cache import FooterCache
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.record import Schema
from forebay.formats.shard import ReadTally
from forebay.formats.storage.local import LocalSource

SCHEMA = Schema.parse({"a": "int64"})


def test_a_footer_is_read_once(tmp_path, write_shard):
    entry = write_shard(tmp_path, SCHEMA, [{"a": 1}], [{"a": 2}])
    reader = ParquetReader(LocalSource(tmp_path), SCHEMA)
    first, second = ReadTally(), ReadTally()
    reader.read(entry, 0, SCHEMA, tally=first)
    reader.read(entry, 1, SCHEMA, tally=second)
    assert first.bytes == entry.footer_bytes + entry.block_bytes[0]
    assert second.bytes == entry.block_bytes[1]
    assert (first.requests, second.requests) == (2, 1)
    assert min(second.read_s, second.check_s, second.decompress_s) > 0


def test_the_cache_is_bounded(tmp_path, write_shard):
    source = LocalSource(tmp_path)
    entries = [write_shard(tmp_path, SCHEMA, [{"a": i}], stem=f"s{i}") for i in range(5)]
    one = FooterCache()
    one.get(source, entries[0])
    cache = FooterCache(limit=2 * one.nbytes)
    for entry in entries:
        cache.get(source, entry)
        assert cache.nbytes <= 2 * one.nbytes
    tally = ReadTally()
    cache.get(source, entries[4], tally)
    assert tally.requests == 0
    cache.get(source, entries[0], tally)
    assert tally.requests == 1
    small = FooterCache(limit=1)
    assert small.get(source, entries[0]) is small.get(source, entries[0])


def test_a_bound_that_has_room_for_all_footers_keeps_all(tmp_path, write_shard):
    source = LocalSource(tmp_path)
    groups = [[{"a": 1}] for _ in range(30)]
    entries = [write_shard(tmp_path, SCHEMA, *groups[: 10 * i], stem=f"s{i}") for i in (1, 2, 3)]
    reader = ParquetReader(source, SCHEMA)
    beside = sum(entry.footer_bytes for entry in entries)
    assert reader.overhead(beside, beside) == beside
    assert reader.overhead(beside, 1 << 62) < 1 << 30
    tally = ReadTally()
    for _ in range(3):
        for entry in entries:
            reader.read(entry, 0, SCHEMA, tally=tally)
    assert tally.requests == len(entries) * (1 + 3)


def test_a_reader_pickles_and_serves_threads(tmp_path, write_shard):
    entry = write_shard(tmp_path, SCHEMA, *[[{"a": i}] for i in range(40)])
    reader = ParquetReader(LocalSource(tmp_path), SCHEMA)
    reader.read(entry, 0, SCHEMA)
    again = pickle.loads(pickle.dumps(reader))

    def value(block):
        return int(again.read(entry, block, SCHEMA).columns["a"].values[0])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(value, range(40))) == list(range(40))
