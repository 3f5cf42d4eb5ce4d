"""Bytes to str and bytes, against Python's own slices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels import _native
from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.ragged import find_rows
from forebay.kernels.values import put_bytes, put_texts

TEXTS = st.lists(st.none() | st.text(max_size=9), max_size=30)


def found(data, starts, lengths):
    """All rows of one block, in order."""
    blocks = RaggedBlocks.of([(data, starts, lengths)])
    return find_rows("texts", blocks, None, np.arange(len(starts)))


def laid(texts):
    """(rows, valid) of values three bytes apart."""
    raw = [b"" if t is None else t.encode() for t in texts]
    data = np.frombuffer(b"".join(r + b"\xff\xff\xff" for r in raw) or b"?", np.uint8)
    lengths = np.array([len(r) for r in raw], np.int64)
    rows = found(data, np.cumsum(lengths + 3) - lengths - 3, lengths)
    return rows, np.array([t is not None for t in texts], bool)


@given(TEXTS, st.integers(0, 5))
def test_equals_python(texts, spare):
    rows, valid = laid(texts)
    places = np.random.default_rng(len(texts)).permutation(len(texts) + spare)[: len(texts)]
    expected = [None] * (len(texts) + spare)
    for place, text in zip(places, texts, strict=True):
        expected[place] = text
    free = set(range(len(expected))) - set(places.tolist())
    for place in free:
        expected[place] = 7
    out = [7] * len(expected)
    assert put_texts(rows, places, out, valid) == []
    assert out == expected
    out = [7] * len(expected)
    put_bytes(rows, places, out, valid)
    assert out == [text.encode() if isinstance(text, str) else text for text in expected]
    out = [None] * len(expected)
    assert put_texts(rows, places[::1], out) == []
    assert [out[p] for p in places] == ["" if text is None else text for text in texts]


def test_what_is_not_utf8_is_told_and_left():
    data = np.frombuffer(b"ab\xffcd\xc3\xa9\xed\xa0\x80", np.uint8)
    starts, lengths = np.array([0, 1, 3, 5, 5, 7]), np.array([2, 2, 2, 2, 1, 3])
    out = [7] * 6
    assert put_texts(found(data, starts, lengths), np.arange(6), out) == [1, 4, 5]
    assert out == ["ab", 7, "cd", "é", 7, 7]


@pytest.mark.parametrize("distinct", [1, 100, 3_000, 20_000])
def test_texts_of_few_values_and_of_many(distinct):
    # Of up to 80 bytes: those up to 64 may be given again. Neighbours differ by a byte.
    kinds = [f"{'k' * (i % 75)}{i:05d}" for i in range(distinct)] + ["é" * 9, "", "x"]
    texts = [kinds[i] for i in np.random.default_rng(0).integers(0, len(kinds), 20_000)]
    rows, _ = laid(texts)
    out = [None] * len(texts)
    assert put_texts(rows, np.arange(len(texts)), out) == []
    assert out == texts
    assert all(hash(a) == hash(b) for a, b in zip(out, texts, strict=True))


@pytest.mark.parametrize("place", [-1, 2])
def test_places_outside_the_list_are_refused(place):
    rows = found(np.zeros(10, np.uint8), np.array([1]), np.array([1]))
    with pytest.raises(IndexError):
        put_bytes(rows, np.array([place]), [None, None])


def test_sizes_and_types_must_agree():
    two, valid = np.zeros(2, np.int64), np.ones(1, bool)
    rows = found(np.zeros(4, np.uint8), two, two)
    with pytest.raises(ValueError, match="places"):
        put_texts(rows, two[:1], [None, None])
    with pytest.raises(ValueError, match="one size"):
        put_texts(rows, two, [None, None], valid)
    with pytest.raises(TypeError, match="uint8"):
        put_texts(found(np.zeros(4, np.int32), two, two), two, [None, None])
    with pytest.raises(TypeError):
        _native.values(rows.addresses, rows.lengths, two, np.empty(0, bool), True, (None, None))
