"""What an order is worth and what it reads, against counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.flow.ranks import ALONE, Ranks
from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.quality import read_factor, shuffle_quality
from forebay.dataloader.plan.window import WindowShape


def plan(rows, order, shape=(1, 1)):
    first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
    return PlanSettings(first_row, order, 1, WindowShape(*shape))


def test_a_full_shuffle_is_worth_one_and_a_block_one_sample():
    rows = [1000] * 200
    assert shuffle_quality(plan(rows, "full"), 100) == pytest.approx(1, abs=0.05)
    # All 100 samples of a batch are of one block, a few batches of two: worth one sample of what
    # a full shuffle makes worth 100 / (1 + 99 * 999 / 199,999).
    alone = shuffle_quality(plan(rows, "sequential"), 100)
    assert alone == pytest.approx((1 + 99 * 999 / 199_999) / 100, rel=0.2)
    assert shuffle_quality(plan(rows, "blocks"), 100) == pytest.approx(alone, rel=0.2)


def test_a_window_of_more_lanes_and_blocks_is_worth_more():
    rows = [1000] * 200
    shapes = [(1, 1), (4, 1), (12, 1), (48, 1), (48, 4)]
    worth = [shuffle_quality(plan(rows, "window", shape), 96) for shape in shapes]
    assert worth == sorted(worth)
    # 96 samples of 48 blocks are two of each: sum(m_b^2) is 192.
    full = 96 * (1 + 95 * 999 / 199_999)
    assert worth[3] == pytest.approx(full / 192, rel=0.02)
    assert worth[1] == pytest.approx(full / (4 * 24**2), rel=0.02)


@pytest.mark.parametrize("rows", [[], [0, 0], [1], [1, 1], [5]])
@pytest.mark.parametrize("order", ["sequential", "blocks", "window", "full"])
def test_small_datasets_have_a_quality(rows, order):
    assert 0 < shuffle_quality(plan(rows, order), 8) <= 1


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(any),
    order=st.sampled_from(["sequential", "blocks", "window"]),
    shape=st.tuples(st.integers(1, 12), st.integers(1, 4)),
    size=st.integers(1, 6),
)
def test_the_factor_is_what_all_ranks_read(rows, order, shape, size):
    settings_ = plan(rows, order, shape)
    memory = np.arange(1, len(rows) + 1, dtype=np.int64) * 100
    read = 0
    for rank in range(size):
        read += int(memory[settings_.order_of(0).uses(Ranks(rank, size)).blocks].sum())
    expected = read / int(memory.sum())
    assert read_factor(settings_, memory, 8, Ranks(0, size), room=0) == pytest.approx(expected)
    # Whatever is read again because lanes meet in it is still there when everything fits.
    assert read_factor(settings_, memory, 8, ALONE, None) <= 1


def test_single_records_and_nothing_are_read_once():
    memory = np.full(3, 7, np.int64)
    by_record = PlanSettings(np.arange(4), "full", 1, WindowShape(1, 1), by_record=True)
    assert read_factor(by_record, memory, 2, ALONE, 0) == 1
    assert read_factor(plan([], "full"), memory[:0], 2, ALONE, 0) == 1
