"""Rows from anywhere: as `read` of their blocks gives them, and a damaged shard spoils its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.fetch.scattered import read_scattered, scattered_cost
from forebay.dataloader.flow.ticket import Scattered
from forebay.formats.shard import ReadTally

ROWS = 300


def write(folder, codec):
    fields = {"n": "int64", "ids": "int32[*]"}
    rows = ({"n": i, "ids": np.arange(i % 9, dtype=np.int32) + i} for i in range(ROWS))
    options = {"format": "recordio", "codec": codec, "block_bytes": 500, "shard_bytes": 4000}
    fb.write_dataset(folder, rows, fields, **options)
    return folder


@pytest.fixture(scope="module", params=["none", "zstd"])
def whole(request, tmp_path_factory):
    return fb.open_dataset(write(tmp_path_factory.mktemp("s") / "d", request.param))


def scattered(dataset, rows):
    rows = np.array(rows, np.int64)
    blocks = np.searchsorted(dataset.blocks.first_row, rows, "right") - 1
    return Scattered(blocks, rows - dataset.blocks.first_row[blocks])


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=40))
def test_rows_come_in_their_order_and_repeated(whole, rows):
    wanted, tally = scattered(whole, rows), ReadTally()
    _, memory = scattered_cost(whole, wanted)
    block = read_scattered(whole, wanted, tally)
    assert block.columns["n"].values.tolist() == rows
    ids = block.columns["ids"]
    assert [ids.view(i).tolist() for i in range(len(rows))] == [
        list(range(r, r + r % 9)) for r in rows
    ]
    assert block.nbytes <= memory
    assert tally.requests > 0
    assert not block.damaged


@pytest.mark.parametrize("how", ["index damaged", "shard cut"])
def test_a_damaged_shard_spoils_its_own_rows_alone(tmp_path, how):
    folder = write(tmp_path / "d", "none")
    dataset = fb.open_dataset(folder)
    shard, index = folder / "shard-00001.rec", folder / "shard-00001.index.arrow"
    if how == "index damaged":
        index.write_bytes(bytes(index.stat().st_size))
    else:
        shard.write_bytes(shard.read_bytes()[:100])
    of_shard = dataset.blocks.shard[scattered(dataset, range(ROWS)).blocks]
    rows = [5, *np.flatnonzero(of_shard == 1)[-3:].tolist(), 2, ROWS - 1]
    wanted = scattered(dataset, rows)
    rest, memory = scattered_cost(dataset, wanted)
    block = read_scattered(dataset, wanted, ReadTally())
    assert sorted(block.damaged) == [1, 2, 3]
    assert all(isinstance(e, fb.errors.ShardError) for e in block.damaged.values())
    assert block.columns["n"].values[[0, 4, 5]].tolist() == [5, 2, ROWS - 1]
    assert rest > 0
    assert block.nbytes <= memory
    with pytest.raises(fb.errors.ShardError, match="shard-00001"):
        read_scattered(dataset, scattered(dataset, rows[1:4]), ReadTally())
