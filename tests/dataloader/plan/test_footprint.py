"""How many bytes an order needs resident, against counting them one batch at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.flow.ranks import ALONE, Ranks
from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.footprint import resident_bytes
from forebay.dataloader.plan.window import WindowShape


def plan(rows, order, shape, seed=0):
    first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
    return PlanSettings(first_row, order, seed, WindowShape(*shape))


def counted(settings_, memory, epoch, batch):
    """The most bytes of blocks in use in any batch, each use by itself."""
    uses = settings_.order_of(epoch).uses(ALONE)
    most = 0
    for start in range(0, settings_.total, batch):
        live = [
            int(b)
            for b, first, last in zip(uses.blocks, uses.first, uses.last, strict=True)
            if first < start + batch and start <= last
        ]
        most = max(most, sum(int(memory[b]) for b in live))
    return most


@settings(max_examples=100, deadline=None)
@given(
    blocks=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10**6)), max_size=30),
    order=st.sampled_from(["sequential", "blocks", "window"]),
    shape=st.tuples(st.integers(1, 8), st.integers(1, 4)),
    epoch=st.integers(0, 3),
    batch=st.integers(1, 40),
)
def test_resident_bytes_is_the_most_in_any_batch(blocks, order, shape, epoch, batch):
    rows, memory = [n for n, _ in blocks], np.array([m for _, m in blocks], np.int64)
    settings_ = plan(rows, order, shape)
    got = resident_bytes(settings_, memory, epoch, batch)
    assert got == counted(settings_, memory, epoch, batch)


@pytest.mark.parametrize(
    ("order", "batch", "expected"),
    [
        ("sequential", 3, 9),
        ("sequential", 4, 5 + 9),
        ("full", 1, 9),
        ("full", 2, 9 + 6),
        ("full", 99, 5 + 9 + 4 + 6),
        ("window", 1, 5 + 9 + 4 + 6),
    ],
)
def test_by_hand(order, batch, expected):
    # Two lanes of two blocks each: the window holds all four at once.
    memory = np.array([5, 9, 4, 6], np.int64)
    assert resident_bytes(plan([3, 3, 3, 3], order, (2, 2)), memory, 0, batch) == expected


def test_nothing_needs_nothing():
    assert resident_bytes(plan([], "window", (2, 2)), np.empty(0, np.int64), 0, 4) == 0
    assert resident_bytes(plan([0, 0], "window", (2, 2)), np.array([7, 7]), 0, 4) == 0


def test_a_rank_needs_its_own_lanes_alone():
    memory = np.array([5, 9, 4, 6], np.int64)
    settings_ = plan([3, 3, 3, 3], "window", (4, 1))
    whole = [resident_bytes(settings_, memory, 0, 12, Ranks(r, 1)) for r in (0,)]
    halves = [resident_bytes(settings_, memory, 0, 12, Ranks(r, 2)) for r in (0, 1)]
    quarters = [resident_bytes(settings_, memory, 0, 12, Ranks(r, 4)) for r in range(4)]
    assert whole == [24]
    assert sum(halves) == 24
    assert max(halves) < 24
    assert sorted(quarters) == [4, 5, 6, 9]
    # Three ranks share no lanes: each needs all of them.
    assert resident_bytes(settings_, memory, 0, 12, Ranks(1, 3)) == 24
