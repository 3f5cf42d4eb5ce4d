"""Bytes to str and bytes, against Python's own slices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels import _native
from forebay.kernels.values import put_bytes, put_texts

TEXTS = st.lists(st.none() | st.text(max_size=9), max_size=30)


def laid(texts):
    """(data, starts, lengths, valid) of values three bytes apart."""
    raw = [b"" if t is None else t.encode() for t in texts]
    data = np.frombuffer(b"".join(r + b"\xff\xff\xff" for r in raw) or b"?", np.uint8)
    lengths = np.array([len(r) for r in raw], np.int64)
    return (
        data,
        np.cumsum(lengths + 3) - lengths - 3,
        lengths,
        np.array([t is not None for t in texts], bool),
    )


@given(TEXTS, st.integers(0, 5))
def test_equals_python(texts, spare):
    data, starts, lengths, valid = laid(texts)
    places = np.random.default_rng(len(texts)).permutation(len(texts) + spare)[: len(texts)]
    expected = [None] * (len(texts) + spare)
    for place, text in zip(places, texts, strict=True):
        expected[place] = text
    free = set(range(len(expected))) - set(places.tolist())
    for place in free:
        expected[place] = 7
    out = [7] * len(expected)
    assert put_texts(data, starts, lengths, places, out, valid) == []
    assert out == expected
    out = [7] * len(expected)
    put_bytes(data, starts, lengths, places, out, valid)
    assert out == [text.encode() if isinstance(text, str) else text for text in expected]
    out = [None] * len(expected)
    assert put_texts(data, starts, lengths, places[::1], out) == []
    assert [out[p] for p in places] == ["" if text is None else text for text in texts]


def test_what_is_not_utf8_is_told_and_left():
    data = np.frombuffer(b"ab\xffcd\xc3\xa9\xed\xa0\x80", np.uint8)
    starts, lengths = np.array([0, 1, 3, 5, 5, 7]), np.array([2, 2, 2, 2, 1, 3])
    out = [7] * 6
    assert put_texts(data, starts, lengths, np.arange(6), out) == [1, 4, 5]
    assert out == ["ab", 7, "cd", "é", 7, 7]


@pytest.mark.parametrize(("start", "length"), [(-1, 1), (0, -1), (9, 2), (11, 0), (2**63 - 1, 1)])
def test_values_outside_data_are_refused(start, length):
    out = [None, None]
    with pytest.raises(IndexError, match="does not lie inside data"):
        put_texts(
            np.zeros(10, np.uint8), np.array([0, start]), np.array([1, length]), np.arange(2), out
        )
    assert out == [None, None]


@pytest.mark.parametrize("place", [-1, 2])
def test_places_outside_the_list_are_refused(place):
    one = np.array([1])
    with pytest.raises(IndexError):
        put_bytes(np.zeros(10, np.uint8), one, one, np.array([place]), [None, None])


def test_sizes_must_agree():
    data, two, valid = np.zeros(4, np.uint8), np.zeros(2, np.int64), np.ones(1, bool)
    for arguments in ((two, two[:1], two), (two, two, two[:1]), (two[:1], two, two)):
        with pytest.raises(ValueError, match="one size"):
            put_texts(data, *arguments, [None, None])
    with pytest.raises(ValueError, match="one size"):
        put_texts(data, two, two, two, [None, None], valid)
    with pytest.raises(TypeError):
        _native.values(data, two, two, two, valid, True, (None, None))
