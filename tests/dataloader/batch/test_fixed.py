"""Batches of n samples: every position is in one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.dataloader.batch.fixed import Fixed
from forebay.dataloader.flow.stage import Span


@given(n=st.integers(1, 10**6), total=st.integers(0, 10**12))
def test_steps_and_spans_agree(n, total):
    policy = Fixed(n)
    steps = policy.steps(total)
    assert (steps - 1) * n < total <= steps * n
    if steps:
        first, size, repeats = policy.span(steps - 1, total, 1)
        assert first + size == total
        assert 1 <= size <= n
        assert repeats == 0
        assert policy.span(0, total, 1) == Span(0, min(n, total), 0)


@given(
    n=st.integers(1, 50),
    total=st.integers(0, 400),
    uneven=st.sampled_from(["pad", "wrap", "drop"]),
    ranks=st.integers(1, 9),
)
def test_spans_are_the_positions_in_order(n, total, uneven, ranks):
    policy = Fixed(n, uneven)
    spans = [policy.span(s, total, ranks) for s in range(policy.steps(total))]
    positions = [p for first, size, _ in spans for p in range(first, first + size)]
    assert positions == list(range(total // n * n if uneven == "drop" else total))
    assert all(span.repeats == 0 for span in spans if span.n == n)
    for span in spans[-1:]:
        taken = span.n + span.repeats
        match uneven:
            case "drop" | "wrap":
                assert taken == n
            case "pad" if span.n < n:
                assert taken % ranks == 0
                assert span.repeats < ranks


@pytest.mark.parametrize("n", [0, -1, 2.0, "8", True, None])
def test_only_a_whole_number_above_zero_is_a_size(n):
    with pytest.raises(ValueError, match=r"batch_size must be an int of at least 1, got "):
        Fixed(n)
