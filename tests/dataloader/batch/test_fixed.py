"""Batches of n samples: every position is in one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.dataloader.batch.fixed import Fixed


@given(n=st.integers(1, 10**6), total=st.integers(0, 10**12))
def test_steps_and_spans_agree(n, total):
    policy = Fixed(n)
    steps = policy.steps(total)
    assert (steps - 1) * n < total <= steps * n
    if steps:
        first, size = policy.span(steps - 1, total)
        assert first + size == total
        assert 1 <= size <= n
        assert policy.span(0, total) == (0, min(n, total))


@given(n=st.integers(1, 50), total=st.integers(0, 400), drop_last=st.booleans())
def test_spans_are_the_positions_in_order(n, total, drop_last):
    policy = Fixed(n, drop_last)
    spans = [policy.span(s, total) for s in range(policy.steps(total))]
    positions = [p for first, size in spans for p in range(first, first + size)]
    assert positions == list(range(total // n * n if drop_last else total))


@pytest.mark.parametrize("n", [0, -1, 2.0, "8", True, None])
def test_only_a_whole_number_above_zero_is_a_size(n):
    with pytest.raises(ValueError, match=r"batch_size must be an int of at least 1, got "):
        Fixed(n)
