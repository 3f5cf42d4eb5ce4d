"""Orders: bijections, pure functions of seed, epoch and position, and the same for ever."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.window import WindowShape

ORDERS = ("sequential", "blocks", "window", "full")


def plan(rows, order, seed=0, shape=(3, 2)):
    first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
    return PlanSettings(first_row, order, seed, WindowShape(*shape))


def located(settings_, epoch=0, positions=None):
    """The record at each position, counted over the dataset."""
    if positions is None:
        positions = np.arange(settings_.total, dtype=np.int64)
    blocks, rows = settings_.order_of(epoch).locate(positions)
    assert (rows >= 0).all()
    assert (rows < np.diff(settings_.first_row)[blocks]).all()
    return settings_.first_row[blocks] + rows


ROWS = st.lists(st.integers(0, 12), max_size=40)
PLANS = st.builds(
    plan,
    ROWS,
    st.sampled_from(ORDERS),
    st.integers(0, 2**64 - 1),
    st.tuples(st.integers(1, 50), st.integers(1, 9)),
)


@settings(max_examples=150, deadline=None)
@given(settings_=PLANS, epoch=st.integers(0, 2**64 - 1))
def test_every_record_stands_at_one_position(settings_, epoch):
    assert sorted(located(settings_, epoch)) == list(range(settings_.total))


@settings(max_examples=60, deadline=None)
@given(settings_=PLANS, epoch=st.integers(0, 99), data=st.data())
def test_a_position_depends_on_nothing_that_was_asked_before(settings_, epoch, data):
    assume(settings_.total)
    whole = located(settings_, epoch)
    order = settings_.order_of(epoch)
    asked = st.lists(st.integers(0, settings_.total - 1), max_size=9)
    for some in data.draw(st.lists(asked, max_size=6)):
        positions = np.array(some, np.int64)
        blocks, rows = order.locate(positions)
        assert (settings_.first_row[blocks] + rows).tolist() == whole[positions].tolist()


@pytest.mark.parametrize("order", ["window", "full"])
def test_large_datasets_are_bijections_too(order):
    # Above 2^16 records, and above it in one window, a network takes the place of a table.
    settings_ = plan([35_000, 0, 1, 99_999, 65_537], order, 3, (2, 3))
    got = located(settings_)
    assert (np.bincount(got, minlength=settings_.total) == 1).all()


@pytest.mark.parametrize("order", ["blocks", "window", "full"])
def test_seed_and_epoch_each_give_another_order(order):
    orders = [
        tuple(located(plan([5] * 20, order, seed), epoch)) for seed in (0, 1) for epoch in (0, 1)
    ]
    assert len(set(orders)) == 4
    again = tuple(located(plan([5] * 20, order, 1), 0))
    assert again == orders[2]


def test_sequential_is_the_order_at_rest():
    assert located(plan([3, 0, 4], "sequential"), 7).tolist() == list(range(7))


def test_blocks_keeps_the_rows_of_a_block_together():
    settings_ = plan([4, 1, 0, 6, 3], "blocks", 9)
    blocks, rows = settings_.order_of(2).locate(np.arange(14, dtype=np.int64))
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    assert sorted(blocks[starts]) == [0, 1, 3, 4]
    for start, stop in zip(starts, [*starts[1:], 14], strict=True):
        assert rows[start:stop].tolist() == list(range(stop - start))


GOLDEN = {
    # (order, seed, epoch, rows, shape): the first 20 positions. Written down once; a change here
    # breaks every cursor and every run that somebody wants to repeat.
    ("blocks", 0, 0, (3, 0, 5, 4, 1, 7, 2, 6), (1, 1)): [
        3,
        4,
        5,
        6,
        7,
        22,
        23,
        24,
        25,
        26,
        27,
        12,
        0,
        1,
        2,
        20,
        21,
        8,
        9,
        10,
    ],
    ("blocks", 7, 3, (3, 0, 5, 4, 1, 7, 2, 6), (1, 1)): [
        0,
        1,
        2,
        12,
        22,
        23,
        24,
        25,
        26,
        27,
        13,
        14,
        15,
        16,
        17,
        18,
        19,
        20,
        21,
        8,
    ],
    ("window", 0, 0, (3, 0, 5, 4, 1, 7, 2, 6), (3, 2)): [
        26,
        27,
        19,
        4,
        12,
        14,
        6,
        21,
        18,
        3,
        20,
        16,
        25,
        0,
        10,
        23,
        1,
        15,
        22,
        2,
    ],
    ("window", 7, 3, (10,) * 12, (4, 2)): [
        11,
        112,
        100,
        58,
        14,
        116,
        109,
        55,
        24,
        119,
        83,
        57,
        29,
        8,
        87,
        44,
        13,
        6,
        86,
        53,
    ],
    ("window", 2**64 - 1, 1, (70000, 50000), (1, 2)): [
        45679,
        99215,
        40483,
        28600,
        55307,
        95279,
        72111,
        88015,
        105073,
        71974,
        50407,
        98785,
        86198,
        52232,
        22198,
        5997,
        72299,
        5441,
        54057,
        112453,
    ],
    ("full", 0, 0, (3, 0, 5, 4, 1, 7, 2, 6), (1, 1)): [
        15,
        11,
        22,
        0,
        27,
        4,
        2,
        13,
        17,
        19,
        20,
        1,
        7,
        21,
        8,
        16,
        6,
        26,
        5,
        24,
    ],
    ("full", 7, 3, (10,) * 12, (1, 1)): [
        103,
        76,
        117,
        61,
        10,
        65,
        66,
        43,
        11,
        32,
        81,
        116,
        110,
        24,
        70,
        57,
        7,
        87,
        18,
        45,
    ],
    ("full", 1, 0, (70000, 50000), (1, 1)): [
        67184,
        53652,
        62551,
        63969,
        33431,
        23674,
        38574,
        38593,
        19216,
        59929,
        24180,
        107654,
        89743,
        46225,
        54885,
        87127,
        117340,
        114093,
        104070,
        5448,
    ],
    ("full", 2**64 - 1, 2**64 - 1, (10**9,) * 10, (1, 1)): [
        4507632097,
        952453895,
        5421327987,
        3343744350,
        5186396636,
        2204841954,
        8724227319,
        2676017223,
        4491141871,
        8322033075,
        9361502826,
        8494301615,
        4964126685,
        9052227092,
        7949952514,
        6554410204,
        3922890683,
        7539300279,
        9460198706,
        3562544829,
    ],
}


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c[0]}-seed{c[1]}-epoch{c[2]}")
def test_the_order_is_for_ever(case):
    order, seed, epoch, rows, shape = case
    settings_ = plan(list(rows), order, seed, shape)
    assert located(settings_, epoch, np.arange(20, dtype=np.int64)).tolist() == GOLDEN[case]


@pytest.mark.parametrize(
    ("order", "rows", "shape"),
    [
        *(("full", [n], (1, 1)) for n in range(2, 7)),
        *(("window", [1] * n, (1, n)) for n in range(2, 7)),
        ("full", [1, 2, 1], (1, 1)),
        ("window", [2, 3], (1, 2)),
    ],
)
def test_all_orders_are_equally_frequent(order, rows, shape):
    n = sum(rows)
    runs = 20 * max(120, math.factorial(n))
    counts = Counter(
        tuple(located(plan(rows, order, seed, shape)).tolist()) for seed in range(runs)
    )
    seen = [counts[p] for p in permutations(range(n))]
    assert sum(seen) == runs
    assert stats.chisquare(seen).pvalue > 0.001


MIXED = [("full", (1, 1)), ("window", (4, 5)), ("window", (1, 40)), ("window", (40, 1))]


@pytest.mark.parametrize(("order", "shape"), MIXED)
def test_every_record_comes_as_often_at_any_position(order, shape):
    rows, seeds = [25] * 40, 800
    positions = np.array([0, 1, 24, 499, 998, 999])
    found = np.array(
        [located(plan(rows, order, seed, shape), 0, positions) for seed in range(seeds)]
    )
    for records in found.T:
        # Of each block, and of each place in a block.
        for kind, kinds in ((records // 25, 40), (records % 25, 25)):
            assert stats.chisquare(np.bincount(kind, minlength=kinds)).pvalue > 0.0001


@pytest.mark.parametrize(("order", "shape"), MIXED)
def test_neighbours_are_as_far_apart_as_any_two_records(order, shape):
    """Neighbours are of one block never where there are lanes, else as often as in a full shuffle
    of the window. Nothing more of where one lies tells where the next one does."""
    blocks, size = 400, 25
    n = blocks * size
    together = (size - 1) / ((shape[1] if order == "window" else blocks) * size - 1)
    together = 0.0 if shape[0] > 1 else together
    apart = np.arange(1, n)
    within = np.where(apart < size, blocks * (size - apart), 0)
    across = n - apart - within
    pairs = together * within / within.sum() + (1 - together) * across / across.sum()
    bins = np.searchsorted(np.cumsum(pairs), np.arange(1, 20) / 20)
    kind = np.searchsorted(bins, np.arange(n - 1), side="left")
    expected = np.bincount(kind, pairs)
    counts = np.zeros(20)
    # A pair of each thousand: those within a window are of the same few blocks.
    first = np.arange(0, n, 1000)
    for seed in range(600):
        settings_ = plan([size] * blocks, order, seed, shape)
        steps = np.abs(located(settings_, 0, first + 1) - located(settings_, 0, first))
        counts += np.bincount(kind[steps - 1], minlength=20)
    assert stats.chisquare(counts, expected * counts.sum()).pvalue > 0.0001


@pytest.mark.parametrize("order", ["blocks", "window"])
def test_block_orders_are_equally_frequent(order):
    # One row a block and one block a window leave the order of blocks alone.
    runs = 1200
    shape = (1, 1)
    counts = Counter(
        tuple(located(plan([1] * 4, order, seed, shape)).tolist()) for seed in range(runs)
    )
    expected = runs / 24
    chi2 = sum((counts[p] - expected) ** 2 / expected for p in permutations(range(4)))
    assert chi2 < 49.73
