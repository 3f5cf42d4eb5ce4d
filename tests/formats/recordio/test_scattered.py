"""Rows from anywhere in one read: the same values, few requests, and damage of single records."""

from __future__ import annotations

import numpy as np
import pytest

from forebay.formats.column import row_at
from forebay.formats.dataset import open_dataset
from forebay.formats.errors import ChecksumMismatch, MalformedShard, TruncatedShard
from forebay.formats.shard import ReadTally
from forebay.formats.writer import write_dataset

FIELDS = {"ids": "int32[*]", "name": "text?", "x": "float32[3]", "n": "int64"}
N = 3000


def records(start=0, count=N):
    rng = np.random.default_rng(start)
    for i in range(start, start + count):
        yield {
            "ids": rng.integers(0, 1000, int(rng.integers(0, 40))).astype(np.int32),
            "name": None if i % 7 == 0 else f"record {i}",
            "x": np.full(3, i, np.float32),
            "n": i,
        }


@pytest.fixture(params=["none", "zstd"])
def made(tmp_path, request):
    write_dataset(
        tmp_path / "d", records(), FIELDS, format="recordio", codec=request.param,
        block_bytes=4000, shard_bytes=60_000,
    )  # fmt: skip
    return open_dataset(tmp_path / "d")


def same(schema, block, i, expected):
    for got, value in zip(row_at(schema, block, i), expected, strict=True):
        if isinstance(value, np.ndarray):
            assert got.dtype == value.dtype
            assert (got == value).all()
        else:
            assert got == value


@pytest.mark.parametrize("count", [0, 1, 2, 64, 500])
def test_rows_are_those_of_their_blocks(made, count):
    assert len(made.table) > 2
    rng = np.random.default_rng(count)
    rows = rng.integers(0, N, count)
    if count > 1:
        rows[1] = rows[0]
    block = made.read_rows(rows)
    assert (block.rows, block.damaged, block.unchecked) == (count, {}, 0)
    expected = list(records())
    for i, row in enumerate(rows.tolist()):
        same(made.schema, block, i, expected[row].values())
    rest, memory = made.rows_cost(rows)
    tally = ReadTally()
    assert made.read_rows(rows, tally).nbytes <= memory
    assert tally.bytes <= rest


def test_neighbours_share_a_read_and_a_shard_a_request(made):
    made.read_rows(np.arange(N))  # loads every index
    tally = ReadTally()
    made.read_rows(np.arange(100, 200), tally)
    assert tally.requests == 1
    first = int(made.blocks.first_row[1])
    whole = made.table.entry(0)
    near = np.array([first - 1, first])  # the blocks do not matter
    tally = ReadTally()
    made.read_rows(near, tally)
    assert (tally.requests, tally.bytes < int(whole.block_bytes[0])) == (1, True)
    tally = ReadTally()
    made.read_rows(np.array([0, N - 1]), tally)
    assert tally.requests == 2


def damaged_at(made, row, byte=12):
    shard = int(np.searchsorted(made._shard_rows, row, "right")) - 1
    entry = made.table.entry(shard)
    number = row - int(made._shard_rows[shard])
    offset = int(made._reader._indexes.get(entry, None).offset[number])
    path = f"{made.name}/{entry.file}"
    with open(path, "r+b") as file:
        file.seek(offset + byte)
        old = file.read(1)
        file.seek(offset + byte)
        file.write(bytes([old[0] ^ 4]))
    return entry.file, number, offset


@pytest.mark.parametrize("byte", [0, 5, 12])
def test_a_damaged_record_is_the_only_one(made, byte):
    places = {row: damaged_at(made, row, byte) for row in (17, N - 3)}
    rows = np.array([5, N - 3, 17, 2000, 17])
    block = made.read_rows(rows)
    assert sorted(block.damaged) == [1, 2, 4]
    expected = list(records())
    for i in (0, 3):
        same(made.schema, block, i, expected[int(rows[i])].values())
    for i, error in block.damaged.items():
        row = int(rows[i])
        file, number, offset = places[row]
        assert isinstance(error, ChecksumMismatch)
        assert (error.shard, error.record, error.offset) == (file, number, offset)
        of = int(made.blocks.locate(np.array([row]))[0][0])
        assert error.block == int(made.blocks.in_shard[of])
    with pytest.raises(ChecksumMismatch):
        made.__getitems__([3, 17])
    assert made.__getitems__([3])[0]["n"] == 3


def test_a_file_that_ends_too_early(made):
    entry = made.table.entry(0)
    with open(f"{made.name}/{entry.file}", "r+b") as file:
        file.truncate(entry.bytes - 8)
    with pytest.raises(TruncatedShard):
        made.read_rows(np.array([0, int(made._shard_rows[1]) - 1]))
    assert made.read_rows(np.array([0])).rows == 1


def test_what_an_index_claims_beyond_its_block_is_refused(made):
    entry = made.table.entry(0)
    entry.block_memory.flags.writeable or pytest.skip("the table is mapped")
    entry.block_memory[0] = 3
    with pytest.raises(MalformedShard, match="than the shard table"):
        made.read_rows(np.array([1]))


@pytest.mark.parametrize("rows", [[-1], [N], [0, N], [N, 0]])
def test_rows_outside(made, rows):
    with pytest.raises(IndexError, match="out of range"):
        made.read_rows(np.array(rows))


def test_blocks_that_cannot_be_read_by_row(tmp_path):
    write_dataset(tmp_path / "p", records(count=5), FIELDS, format="parquet")
    with pytest.raises(TypeError, match="single rows"):
        open_dataset(tmp_path / "p").read_rows(np.array([1]))
