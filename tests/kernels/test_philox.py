"""Philox4x32-10 against its paper's vectors and a NumPy twin; keys that never change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels import _native
from forebay.kernels.philox import derive_key, draws

GOLDEN_EMPTY = (0xA6FEAAD10C1E29A9, 0x467CD89158561C21)
GOLDEN_0 = (0xE215852509BC717A, 0x498A40914F0EDBC1)
GOLDEN_00 = (0x05587AEF3EE63CE8, 0xEA1D9E8609BE7E17)
GOLDEN_MANY = (0x62655BB6050781FA, 0xF4729CD12DB9D074)
WORDS_64 = st.integers(0, 2**64 - 1)

# kat_vectors of Random123, "philox4x32 10": counter, key, result.
KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def twin(counter, key):
    """The paper's definition in plain NumPy: (N, 4) uint64 counters, two key words."""
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [int(word) for word in key]
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (second >> half) ^ c[1] ^ np.uint64(k[0]),
            second & low,
            (first >> half) ^ c[3] ^ np.uint64(k[1]),
            first & low,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, axis=-1).astype(np.uint32)


def join(low, high):
    return low | high << 32


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter, key, expected):
    ours = (join(*key), join(*counter[2:]))
    got = draws(ours, np.array([join(*counter[:2])], np.uint64))
    assert got.tolist() == [list(expected)]
    assert tuple(twin(counter, key)) == expected


@given(st.lists(WORDS_64, max_size=30), st.tuples(WORDS_64, WORDS_64))
def test_equals_its_twin(counters, key):
    array = np.array(counters, np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    upper = [np.full(array.shape, part, np.uint64) for part in (key[1] & 0xFFFFFFFF, key[1] >> 32)]
    expected = twin([array & low, array >> half, *upper], (key[0] & 0xFFFFFFFF, key[0] >> 32))
    got = draws(key, array)
    assert got.dtype == np.uint32
    assert got.shape == (len(counters), 4)
    assert np.array_equal(got, expected)


def test_keys_are_golden():
    assert derive_key() == GOLDEN_EMPTY
    assert derive_key(0) == GOLDEN_0
    assert derive_key(0, 0) == GOLDEN_00
    assert derive_key(1, 2, 3, 2**64 - 1) == GOLDEN_MANY


def test_keys_differ_by_length_order_and_value():
    tuples = [(), (0,), (0, 0), (0, 1), (1, 0), (1,), (256,), (1, 0, 0), (2**63,)]
    assert len({derive_key(*words) for words in tuples}) == len(tuples)


def test_numpy_integers_are_integers():
    assert derive_key(np.int64(5), np.uint8(7)) == derive_key(5, 7)


@pytest.mark.parametrize("word", [-1, 2**64])
def test_words_are_checked(word):
    with pytest.raises(ValueError, match=rf"got {word} in \(3, {word}\)"):
        derive_key(3, word)


def test_counters_are_checked():
    with pytest.raises(TypeError, match="float64"):
        draws((1, 1), np.zeros(3))
    with pytest.raises(ValueError, match="1-D"):
        draws((1, 1), np.zeros((2, 2), np.uint64))


def test_room_is_checked():
    with pytest.raises(ValueError, match="four words for each"):
        _native.draws(1, 2, np.zeros(3, np.uint64), np.zeros(11, np.uint32))


def test_signed_counters_count_the_same():
    assert np.array_equal(draws((1, 2), np.arange(9)), draws((1, 2), np.arange(9, dtype=np.uint64)))
