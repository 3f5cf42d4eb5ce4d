"""Shares in whole numbers: exact where a short cycle has them, near where none has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.dataloader.plan.shares import CYCLE, Shares, dealt, quotas


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([7, 3], [7, 3]),
        ([0.7, 0.3], [7, 3]),
        ([1], [1]),
        ([0, 2, 0, 1], [0, 2, 0, 1]),
        ([0, 1, 1e-9], [0, 4095, 1]),
        ([5, 5, 5], [1, 1, 1]),
        ([60_000, 10_000], [6, 1]),
        ([1 / 3, 2 / 3], [1, 2]),
        ([1, 1e-9], [4095, 1]),
        ([512, 0.0625, 0.0625], [4094, 1, 1]),
        ([1e6] + [1] * 4095, [1] * 4096),
    ],
)
def test_the_shortest_cycle_that_has_the_shares(weights, expected):
    assert quotas(weights).tolist() == expected


@given(weights=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20))
def test_a_share_is_wrong_by_less_than_one_in_a_cycle(weights):
    found = quotas(weights)
    share = np.array(weights) / np.sum(weights)
    assert found.min() >= 1
    assert found.sum() <= CYCLE
    small = share < 1 / CYCLE
    if not small.any():
        assert np.abs(found / found.sum() - share).max() < 1 / CYCLE


@given(share=st.lists(st.integers(1, 50), min_size=1, max_size=9), count=st.integers(0, 10_000))
def test_dealt_adds_up_and_is_within_one(share, count):
    found = dealt(np.array(share), count)
    assert found.sum() == count
    assert np.abs(found - np.array(share) / sum(share) * count).max() < 1


@given(weights=st.lists(st.integers(1, 30), min_size=1, max_size=5), total=st.integers(0, 30_000))
def test_an_epoch_is_groups_and_what_is_left(weights, total):
    shares = Shares(quotas(weights), total)
    assert shares.in_epoch().sum() == total
    assert shares.group <= CYCLE
    assert (shares.in_group % shares.quota == 0).all()
    whole = shares.in_group * (total // shares.group)
    assert (whole + shares.in_last() == shares.in_epoch()).all()
