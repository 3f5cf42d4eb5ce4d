"""The window order: its shape, what it keeps resident, and how well it mixes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.flow.ranks import ALONE, Ranks
from forebay.dataloader.plan.window import (
    LANES,
    SPARE_TABLES,
    Window,
    WindowShape,
    window_shape,
)

MB = 10**6


def window(rows, shape, seed=0, epoch=0):
    first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
    return Window(first_row, seed, epoch, WindowShape(*shape)), first_row


def test_what_fits_the_window_is_one_full_shuffle():
    assert window_shape(np.full(60, MB), 60 * MB) == WindowShape(1, 60)
    assert window_shape(np.array([10**12]), 1) == WindowShape(1, 1)
    assert window_shape(np.empty(0, np.int64), 1) == WindowShape(1, 1)


@pytest.mark.parametrize(
    ("window_bytes", "lanes", "blocks"),
    [
        (480 * MB, 48, 10),
        (64 * MB, 48, 1),
        (48 * MB, 48, 1),
        (47 * MB, 24, 1),
        (23 * MB, 16, 1),
        (13 * MB, 12, 1),
        (11 * MB, 8, 1),
        (7 * MB, 6, 1),
        (5 * MB, 4, 1),
        (3 * MB, 3, 1),
        (2 * MB, 2, 1),
        (MB, 1, 1),
        (1, 1, 1),
    ],
)
def test_lanes_are_the_largest_divisor_that_fits(window_bytes, lanes, blocks):
    assert window_shape(np.full(1000, MB), window_bytes) == WindowShape(lanes, blocks)


@settings(max_examples=100, deadline=None)
@given(
    memory=st.lists(st.integers(1, 10**7), min_size=2, max_size=200).map(np.array),
    window_bytes=st.integers(1, 10**9),
)
def test_shape_fits_on_average_and_wastes_less_than_a_lane(memory, window_bytes):
    shape, mean = window_shape(memory, window_bytes), memory.mean()
    if memory.sum() <= window_bytes:
        assert shape == WindowShape(1, len(memory))
        return
    assert LANES % shape.lanes == 0
    assert shape.lanes * shape.blocks * mean <= window_bytes * 1.000001 or shape == WindowShape(
        1, 1
    )
    assert shape.lanes * (shape.blocks + 1) * mean > window_bytes * 0.999999


ROWS = st.lists(st.integers(0, 9), min_size=1, max_size=40).filter(any)
SHAPES = st.tuples(st.integers(1, 12), st.integers(1, 6))


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, shape=SHAPES, seed=st.integers(0, 99))
def test_uses_cover_every_position_and_nothing_needs_more_than_the_window(rows, shape, seed):
    order, first_row = window(rows, shape, seed)
    total = int(first_row[-1])
    blocks, _ = order.locate(np.arange(total, dtype=np.int64))
    uses = order.uses(ALONE)
    live = [
        {int(b) for b, f, s in zip(uses.blocks, uses.first, uses.last, strict=True) if f <= p <= s}
        for p in range(total)
    ]
    assert all(int(blocks[p]) in live[p] for p in range(total))
    assert max(map(len, live)) <= shape[0] * shape[1]
    assert (uses.first <= uses.last).all()
    assert set(uses.blocks.tolist()) == {b for b, n in enumerate(rows) if n}


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, shape=SHAPES, seed=st.integers(0, 99), size=st.integers(1, 8))
def test_uses_of_a_rank_cover_its_positions_and_no_other_lanes(rows, shape, seed, size):
    order, first_row = window(rows, shape, seed)
    total = int(first_row[-1])
    blocks, _ = order.locate(np.arange(total, dtype=np.int64))
    whole = order.uses(ALONE)
    told = 0
    for rank in range(size):
        uses = order.uses(Ranks(rank, size))
        for p in range(rank, total, size):
            live = (uses.first <= p) & (p <= uses.last)
            assert int(blocks[p]) in uses.blocks[live]
        told += len(set(uses.blocks.tolist()))
    filled = len(set(whole.blocks.tolist()))
    if shape[0] % size == 0:
        # Each block is one rank's, but for those in which lanes meet.
        assert told <= filled + shape[0] - 1
    assert told <= filled * size


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, shape=SHAPES)
def test_uses_of_one_block_do_not_meet(rows, shape):
    uses = window(rows, shape)[0].uses(ALONE)
    for block in set(uses.blocks.tolist()):
        mine = np.flatnonzero(uses.blocks == block)
        mine = mine[np.argsort(uses.first[mine])]
        assert (uses.first[mine][1:] > uses.last[mine][:-1]).all()


def test_lanes_take_turns_and_each_stays_in_its_share():
    # 6 lanes of 40 records: positions p, p + 6, p + 12 are one lane's, which spans 4 blocks.
    order, _ = window([10] * 24, (6, 2), seed=3)
    blocks, _ = order.locate(np.arange(240, dtype=np.int64))
    for lane in range(6):
        mine = blocks[lane::6]
        assert [len(set(mine[i : i + 20].tolist())) for i in (0, 20)] == [2, 2]
        assert len(set(mine.tolist())) == 4


def test_class_sorted_rows_mix():
    # 100 classes of 100 rows lie one after the other, in blocks of 50. A perfect shuffle of 64
    # rows holds 47.4 classes on average; neighbouring blocks alone would hold one or two.
    order, first_row = window([50] * 200, (12, 2), seed=1)
    blocks, rows = order.locate(np.arange(10_000, dtype=np.int64))
    label = (first_row[blocks] + rows) // 100
    classes = [len(set(label[i : i + 64].tolist())) for i in range(0, 9_984, 64)]
    assert min(classes) >= 12
    assert np.mean(classes) > 17
    # No batch is made of one part of the dataset.
    means = [label[i : i + 64].mean() for i in range(0, 9_984, 64)]
    assert np.std(means) < 12


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, shape=SHAPES, seed=st.integers(0, 20), epoch=st.integers(0, 5))
def test_sticky_lanes_have_the_same_blocks_in_every_epoch(rows, shape, seed, epoch):
    first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
    positions = np.arange(int(first_row[-1]), dtype=np.int64)
    lanes = shape[0]
    found = []
    for e in (0, epoch):
        order = Window(first_row, seed, e, WindowShape(*shape, sticky=True))
        blocks, in_blocks = order.locate(positions)
        assert np.array_equal(np.sort(first_row[blocks] + in_blocks), positions)
        found.append([sorted(set(blocks[lane::lanes].tolist())) for lane in range(lanes)])
        uses = order.uses(ALONE)
        for p in positions.tolist():
            live = (uses.first <= p) & (p <= uses.last)
            assert int(blocks[p]) in uses.blocks[live]
    assert found[0] == found[1]


def test_sticky_lanes_still_shuffle():
    first_row = np.arange(0, 2401, 10)
    shape = WindowShape(6, 2, sticky=True)
    orders = [Window(first_row, 1, epoch, shape) for epoch in range(3)]
    records = [
        first_row[b] + r for b, r in (o.locate(np.arange(2400, dtype=np.int64)) for o in orders)
    ]
    assert len({tuple(r.tolist()) for r in records}) == 3
    assert (records[0] == records[1]).mean() < 0.05
    together = [{frozenset((int(a), int(b))) for a, b in pairwise(r)} for r in records]
    assert len(together[0] & together[1]) < 30


def test_two_epochs_put_other_records_together():
    order, first_row = window([10] * 60, (6, 1))
    other, _ = window([10] * 60, (6, 1), epoch=1)
    positions = np.arange(600, dtype=np.int64)
    found = []
    for one in (order, other):
        blocks, rows = one.locate(positions)
        record = first_row[blocks] + rows
        found.append({frozenset((int(a), int(b))) for a, b in pairwise(record)})
    assert len(found[0] & found[1]) < 30


# The order is part of the cursor's format: positions 0, 1, 2, the middle and the last, seed 5,
# epoch 2. Windows of up to 2**16 rows, larger ones, lanes of several windows, an empty block.
GOLDEN = [
    ([7, 0, 12, 30, 5, 9], (3, 2), [3, 3, 0, 2, 4], [16, 24, 4, 10, 1]),
    ([100] * 40, (6, 2), [36, 26, 17, 25, 32], [27, 92, 3, 21, 1]),
    ([40_000] * 5, (2, 2), [2, 4, 2, 2, 3], [39056, 7075, 7220, 8092, 37546]),
    ([90_000, 1, 2], (1, 3), [0, 0, 0, 0, 0], [53210, 45841, 2092, 88576, 84255]),
]


@pytest.mark.parametrize(("rows", "shape", "blocks", "in_blocks"), GOLDEN)
def test_golden_orders(rows, shape, blocks, in_blocks):
    order, first_row = window(rows, shape, seed=5, epoch=2)
    total = int(first_row[-1])
    found = order.locate(np.array([0, 1, 2, total // 2, total - 1]))
    assert (found[0].tolist(), found[1].tolist()) == (blocks, in_blocks)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, shape=SHAPES, step=st.integers(1, 40))
def test_how_positions_are_divided_does_not_matter(rows, shape, step):
    order, first_row = window(rows, shape, seed=1)
    positions = np.arange(int(first_row[-1]), dtype=np.int64)
    blocks, in_blocks = order.locate(positions)
    records = first_row[blocks] + in_blocks
    assert np.array_equal(np.sort(records), positions)
    pieces = [
        window(rows, shape, seed=1)[0].locate(positions[at : at + step])
        for at in range(0, len(positions), step)
    ]
    assert np.array_equal(np.concatenate([b for b, _ in pieces]), blocks)
    assert np.array_equal(np.concatenate([r for _, r in pieces]), in_blocks)


def test_tables_are_let_go_and_made_again():
    order, _ = window([5] * 400, (2, 1))
    positions = np.arange(2000, dtype=np.int64)
    expected = order.locate(positions)
    # Of 400 windows a few are kept: going back and forth makes tables anew.
    for at in (1990, 0, 1000, 500, 1990, 3):
        got = order.locate(positions[at : at + 9])
        assert np.array_equal(got[0], expected[0][at : at + 9])
        assert np.array_equal(got[1], expected[1][at : at + 9])
    assert len(order._tables) <= 2 + SPARE_TABLES
    assert int((order._tables_at != 0).sum()) == len(order._tables)


@pytest.mark.parametrize("bad", [-1, 60, 2**62])
def test_a_position_that_does_not_exist_is_named(bad):
    order, _ = window([10] * 6, (3, 1))
    with pytest.raises(IndexError, match=rf"position {bad} does not exist: the epoch has 60"):
        order.locate(np.array([0, bad, 1]))
