"""The order of an epoch: a bijection, exactly uniform when small, and the same for ever."""

import collections
import itertools
import math
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from forebay.kernels import _native
from forebay.kernels.permute import EXACT, LARGEST, permutation, permute
from forebay.kernels.philox import derive_key, draws

GOLDEN_10 = [4, 2, 7, 5, 9, 8, 1, 0, 3, 6]
GOLDEN_65536 = [46243, 33476, 51974, 34332]
GOLDEN_100000 = [33016, 27554, 6446, 74258, 49050]
GOLDEN_10_12 = [228382162323, 464354623541, 431538916674, 616279211439, 269028158758]
KEYS = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))


def twin(n, key):
    """The shuffle in plain Python: Lemire's unbiased draw for each place, from the last down."""
    words = iter(draws(key, np.arange(2 * n + 8, dtype=np.uint64)).ravel().tolist())
    table = list(range(n))
    for last in range(n - 1, 0, -1):
        product = next(words) * (last + 1)
        while product % 2**32 < 2**32 % (last + 1):
            product = next(words) * (last + 1)
        table[last], table[product >> 32] = table[product >> 32], table[last]
    return table


@given(st.integers(0, 500), KEYS)
def test_exact_equals_its_twin(n, key):
    assert permutation(n, key).tolist() == twin(n, key)


@given(st.integers(0, 3000), KEYS)
def test_small_is_a_bijection(n, key):
    order = permutation(n, key)
    assert order.dtype == np.int64
    assert np.array_equal(np.sort(order), np.arange(n))
    assert np.array_equal(permute(n, key, np.arange(n)), order)


@pytest.mark.parametrize("n", [0, 1, 2, 255, 256, 257, EXACT - 1, EXACT])
def test_exact_at_its_edges(n):
    assert np.array_equal(np.sort(permutation(n, (1, 2))), np.arange(n))


@pytest.mark.parametrize("n", [EXACT + 1, 65_793, 257 * 257, 99_991, 512 * 512 - 1, 1_000_003])
@pytest.mark.parametrize("key", [(0, 0), (2**64 - 1, 2**64 - 1), (123, 456)])
def test_large_is_a_bijection(n, key):
    seen = np.bincount(permute(n, key, np.arange(n)), minlength=n)
    assert (seen == 1).all()


@given(st.integers(EXACT + 1, LARGEST), KEYS, st.data())
def test_huge_stays_inside_and_never_collides(n, key, data):
    index = data.draw(st.lists(st.integers(0, n - 1), unique=True, max_size=50))
    got = permute(n, key, np.array([*index, 0, n - 1], np.int64))
    assert ((got >= 0) & (got < n)).all()
    assert len(set(got.tolist())) == len({*index, 0, n - 1})


@given(st.integers(1, 10**12), KEYS, st.integers(1, 30))
def test_how_positions_are_divided_does_not_matter(n, key, step):
    index = np.arange(min(n, 100), dtype=np.int64)
    pieces = [permute(n, key, index[at : at + step]) for at in range(0, len(index), step)]
    assert np.array_equal(np.concatenate(pieces), permute(n, key, index))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_every_order_is_equally_likely(n):
    keys = 100 * math.factorial(n)
    seen = collections.Counter(tuple(permutation(n, derive_key(n, k))) for k in range(keys))
    counts = [seen[order] for order in itertools.permutations(range(n))]
    assert sum(counts) == keys
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("n", [EXACT + 1, 1_000_003, 10**9 + 7, 10**12])
def test_network_sends_each_position_anywhere(n):
    index = np.array([0, 1, n // 2, n - 1])
    images = np.array([permute(n, derive_key(1, k), index) for k in range(4000)])
    for column in [*images.T, *((images[:, 1:] - images[:, :-1]) % n).T]:
        counts, _ = np.histogram(column, 40, (0, n))
        assert stats.chisquare(counts).pvalue > 0.0001


@pytest.mark.parametrize("n", [EXACT, 300_007, 10**10])
def test_neighbours_are_sent_apart(n):
    order = permute(n, derive_key(2), np.arange(min(n, 300_000)))
    steps, _ = np.histogram(np.diff(order) % n, 200, (0, n))
    pairs, _, _ = np.histogram2d(order[:-1], order[1:], 30, [(0, n), (0, n)])
    assert stats.chisquare(steps).pvalue > 0.0001
    assert stats.chisquare(pairs.ravel()).pvalue > 0.0001


@given(st.integers(EXACT + 1, LARGEST), KEYS, st.integers(0, 600))
def test_with_and_without_vectors(n, key, count):
    index = np.random.default_rng(count).integers(0, n, count)
    left = math.isqrt(n - 1) + 1
    sent = np.empty(count, np.int64)
    assert _native.permute_portable(n, left, -(-n // left), *key, index, sent) == -1
    assert np.array_equal(sent, permute(n, key, index))


@pytest.mark.parametrize(("left", "right"), [(0, 9), (9, 0), (3, 33), (2**31 + 1, 1), (2**33, 1)])
def test_halves_that_would_never_end_are_refused(left, right):
    index = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="their product n or more"):
        _native.permute(100, left, right, 1, 2, index, np.empty_like(index))


def test_native_sizes_are_checked():
    index, out = np.zeros(2, np.int64), np.empty(3, np.int64)
    with pytest.raises(ValueError, match="differ in size"):
        _native.permute(100, 10, 10, 1, 2, index, out)
    with pytest.raises(ValueError, match="differ in size"):
        _native.look_up(np.zeros(5, np.uint16), index, out)
    with pytest.raises(ValueError, match="at most 2"):
        _native.shuffled_table(1, 2, np.empty(EXACT + 1, np.uint16))


def test_golden_orders():
    key = derive_key(0, 0)
    assert permutation(10, key).tolist() == GOLDEN_10
    index = np.array([0, 1, 2, 3, 99_999])
    assert permute(65_536, key, index[:4]).tolist() == GOLDEN_65536
    assert permute(100_000, key, index).tolist() == GOLDEN_100000
    assert permute(10**12, key, index).tolist() == GOLDEN_10_12


def test_threads_agree():
    index = np.arange(200_000)
    expected = permute(10**9, (3, 4), index)
    results = [None] * 4

    def work(i):
        results[i] = permute(10**9, (3, 4), index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, expected) for result in results)


def test_results_are_the_callers():
    permutation(50, (5, 6))[:] = 0
    assert np.array_equal(np.sort(permutation(50, (5, 6))), np.arange(50))


@pytest.mark.parametrize("n", [10, 100_000])
@pytest.mark.parametrize("past", [-1, 0, 1])
def test_positions_outside_are_named(n, past):
    position = -1 if past < 0 else n + past
    with pytest.raises(IndexError, match=rf"position {position} \(number 1\).*\[0, {n}\)"):
        permute(n, (1, 1), np.array([0, position, 2]))


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="use permute"):
        permutation(EXACT + 1, (1, 1))
    for n in (-1, LARGEST + 1):
        with pytest.raises(ValueError, match=f"got {n}"):
            permute(n, (1, 1), np.zeros(0, np.int64))
    with pytest.raises(TypeError, match="float64"):
        permute(10, (1, 1), np.array([0.5]))
    with pytest.raises(ValueError, match="1-D"):
        permute(10, (1, 1), np.zeros((2, 2), np.int64))
