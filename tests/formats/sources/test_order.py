from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forebay.formats.sources.order import cuts_by_size, even_cuts, order_of


def test_order_never_changes():
    assert order_of(10, 7).tolist() == order_of(10, 7, np.arange(10)).tolist()
    assert order_of(10, None).tolist() == list(range(10))
    # Golden: a resumed pack and a dataset made last year depend on it.
    assert order_of(10, 0).tolist() == GOLDEN_10_0
    assert order_of(70_000, 1)[:5].tolist() == GOLDEN_70000_1


GOLDEN_10_0 = [3, 6, 8, 9, 1, 5, 0, 4, 7, 2]
GOLDEN_70000_1 = [7091, 14254, 17897, 67169, 55484]


@given(st.integers(1, 300), st.integers(0, 2**64 - 1))
def test_order_is_a_permutation(n, seed):
    assert sorted(order_of(n, seed).tolist()) == list(range(n))


@given(st.lists(st.integers(0, 100), max_size=60), st.integers(1, 200))
def test_cuts_by_size(sizes, limit):
    runs = cuts_by_size(np.array(sizes, np.int64), limit)
    assert [i for a, b in runs for i in range(a, b)] == list(range(len(sizes)))
    for a, b in runs:
        assert sum(sizes[a:b]) <= limit or b - a == 1
        assert b == len(sizes) or sum(sizes[a : b + 1]) > limit


@given(st.integers(0, 1000), st.integers(0, 10**6), st.integers(1, 10**5))
def test_even_cuts(records, nbytes, limit):
    runs = even_cuts(records, nbytes, limit)
    assert [i for a, b in runs for i in range(a, b)] == list(range(records))
    lengths = [b - a for a, b in runs]
    assert not lengths or (max(lengths) - min(lengths) <= 1 and min(lengths) > 0)
