"""Weighted orders: frequencies against the weights, and every draw a function of its position."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from forebay.dataloader.plan.weighted import Weighted, Weights


def drawn(weights, samples, replacement, seed=0, epoch=0, rows=None):
    """Records of all positions."""
    first_row = np.r_[0, np.cumsum(rows if rows is not None else [len(weights)])]
    order = Weighted(
        first_row.astype(np.int64), seed, epoch,
        Weights(np.array(weights, np.float64), samples, replacement),
    )  # fmt: skip
    blocks, in_blocks = order.locate(np.arange(samples, dtype=np.int64))
    return first_row[blocks] + in_blocks


WEIGHTS = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.sampled_from([1e-300, 1e300])),
    min_size=1, max_size=40,
).filter(any)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(weights=WEIGHTS, seed=st.integers(0, 50), epoch=st.integers(0, 3), data=st.data())
def test_without_replacement_none_comes_twice_and_none_of_weight_zero(weights, seed, epoch, data):
    positive = sum(w > 0 for w in weights)
    samples = data.draw(st.integers(0, positive))
    found = drawn(weights, samples, False, seed, epoch)
    assert len(set(found.tolist())) == samples
    assert all(weights[i] > 0 for i in found)


@settings(max_examples=150, deadline=None)
@given(weights=WEIGHTS, seed=st.integers(0, 50), samples=st.integers(0, 200))
def test_with_replacement_none_of_weight_zero_comes(weights, seed, samples):
    found = drawn(weights, samples, True, seed)
    assert all(weights[i] > 0 for i in found)


def test_frequencies_with_replacement_are_the_weights():
    weights = np.array([0, 1, 2, 3, 0, 10, 0.5, 7])
    found = drawn(weights, 200_000, True, rows=[3, 0, 2, 3])
    counts = np.bincount(found, minlength=8)
    chosen = weights > 0
    expected = weights[chosen] / weights.sum() * 200_000
    assert stats.chisquare(counts[chosen], expected).pvalue > 0.001
    # Neighbours are independent.
    pairs = Counter(zip(found[::2].tolist(), found[1::2].tolist(), strict=True))
    both = {
        (i, j): weights[i] * weights[j] / weights.sum() ** 2 * 100_000
        for i in np.flatnonzero(chosen) for j in np.flatnonzero(chosen)
    }  # fmt: skip
    counted = [pairs[key] for key in both]
    assert stats.chisquare(counted, list(both.values())).pvalue > 0.001


def test_orders_without_replacement_are_as_likely_as_one_draw_after_another():
    weights = [1.0, 2.0, 4.0]
    expected = {}
    for first in range(3):
        for second in {0, 1, 2} - {first}:
            left = sum(weights) - weights[first]
            chance = weights[first] / sum(weights) * weights[second] / left
            expected[first, second, 3 - first - second] = chance * 20_000
    counts = Counter(tuple(drawn(weights, 3, False, seed=seed).tolist()) for seed in range(20_000))
    assert set(counts) == set(expected)
    found = [counts[order] for order in expected]
    assert stats.chisquare(found, list(expected.values())).pvalue > 0.001


@pytest.mark.parametrize("replacement", [True, False])
def test_a_draw_is_a_function_of_its_position(replacement):
    weights = Weights(np.arange(1000, dtype=np.float64), 500, replacement)
    order = Weighted(np.array([0, 400, 1000]), 7, 3, weights)
    whole = np.stack(order.locate(np.arange(500)))
    again = Weighted(np.array([0, 400, 1000]), 7, 3, weights)
    for positions in ([499, 0, 3], [3], [250, 250]):
        assert np.array_equal(np.stack(again.locate(np.array(positions))), whole[:, positions])
    other = Weighted(np.array([0, 400, 1000]), 7, 4, weights)
    assert not np.array_equal(np.stack(other.locate(np.arange(500))), whole)


# Draws are part of the cursor's format: positions 0 to 5 of weights 1 to 9, seed 5, epoch 2.
@pytest.mark.parametrize(
    ("replacement", "records"), [(True, [2, 8, 8, 7, 8, 8]), (False, [6, 7, 2, 3, 5, 4])]
)
def test_golden_draws(replacement, records):
    assert drawn(range(1, 10), 6, replacement, 5, 2).tolist() == records
