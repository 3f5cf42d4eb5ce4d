"""Windows out of chunks against slices of the whole stream; ids against a loop over tokens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.kernels.blocks import FixedBlocks
from forebay.kernels.token_windows import document_ids, token_windows

PAIRS = [
    *[("u1", "u1"), ("u2", "u2"), ("i4", "i4"), ("u4", "u4"), ("i8", "i8")],
    *[("u1", "i4"), ("u2", "i4"), ("u1", "i8"), ("u2", "i8"), ("u4", "i8")],
]


@settings(deadline=None)
@given(
    pair=st.sampled_from(PAIRS),
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=9),
    length=st.integers(0, 60),
    seed=st.integers(0, 99),
)
def test_equals_slices(pair, sizes, length, seed):
    stored, wanted = map(np.dtype, pair)
    rng = np.random.default_rng(seed)
    stream = rng.integers(0, 256, sum(sizes) * stored.itemsize, dtype=np.uint8).view(stored)
    edges = np.r_[0, np.cumsum(sizes)]
    order = rng.permutation(len(sizes))
    chunks = FixedBlocks.of([stream[edges[c] : edges[c + 1]].copy() for c in order])
    length = min(length, len(stream))
    starts = rng.integers(0, len(stream) - length + 1, 20)
    out = np.full((20, length), 77, wanted)
    token_windows(chunks, np.argsort(order), edges, starts, out)
    expected = np.stack([stream[s : s + length] for s in starts])
    assert np.array_equal(out, expected.astype(wanted))


def test_a_missing_or_short_chunk_is_told():
    chunks = FixedBlocks.of([np.arange(10, dtype=np.uint16), np.arange(9, dtype=np.uint16)])
    edges, out = np.array([0, 10, 20, 30]), np.zeros((2, 5), np.uint16)
    token_windows(chunks, np.array([0, 1, -1]), edges, np.array([3, 14]), out)
    with pytest.raises(IndexError, match=r"window 1 of 2, tokens \[16, 21\) of 30, .*not there"):
        token_windows(chunks, np.array([0, 0, -1]), edges, np.array([3, 16]), out)
    with pytest.raises(IndexError, match="not there"):
        token_windows(chunks, np.array([0, 0, 99]), edges, np.array([3, 16]), out)
    with pytest.raises(IndexError, match="fewer tokens than the stream says"):
        token_windows(chunks, np.array([0, 1, 0]), edges, np.array([3, 16]), out)
    for start in (-1, 26, 2**63 - 1):
        with pytest.raises(IndexError, match="does not lie inside the stream"):
            token_windows(chunks, np.array([0, 1, -1]), edges, np.array([3, start]), out)


def test_what_is_refused():
    chunks, edges = FixedBlocks.of([np.arange(10, dtype=np.uint16)]), np.array([0, 10])
    number, starts = np.array([0]), np.array([0])
    for dtype in (np.int16, np.uint32, np.float32):
        with pytest.raises(TypeError, match="do not go to out"):
            token_windows(chunks, number, edges, starts, np.zeros((1, 5), dtype))
    with pytest.raises(ValueError, match=r"out must be \(1, length\)"):
        token_windows(chunks, number, edges, starts, np.zeros((2, 5), np.uint16))
    with pytest.raises(ValueError, match="ascend from 0"):
        token_windows(chunks, number, np.array([1, 10]), starts, np.zeros((1, 5), np.uint16))
    with pytest.raises(ValueError, match="scalars"):
        token_windows(
            FixedBlocks.of([np.zeros((2, 2), np.uint16)]), number, edges, starts,
            np.zeros((1, 5), np.uint16),
        )  # fmt: skip
    with pytest.raises(TypeError, match="must be integers"):
        token_windows(
            FixedBlocks.of([np.zeros(10, np.float32)]), number, edges, starts,
            np.zeros((1, 5), np.float32),
        )  # fmt: skip


def ids_twin(documents, start, length):
    segment, position, segments, positions = 0, 0, [], []
    for token in range(start, start + length):
        if token > start and token in documents:
            segment, position = segment + 1, 0
        segments.append(segment)
        positions.append(position)
        position += 1
    return segments, positions


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 200), max_size=30).map(sorted),
    st.lists(st.integers(0, 150), min_size=1, max_size=9),
    st.integers(0, 50),
)
def test_ids_equal_a_loop_over_tokens(documents, starts, length):
    segments, positions = np.full((2, len(starts), length), -7, np.int32)
    document_ids(np.array(documents, np.int64), np.array(starts), segments, positions)
    for i, start in enumerate(starts):
        expected = ids_twin(set(documents), start, length)
        assert (segments[i].tolist(), positions[i].tolist()) == expected


def test_ids_are_refused():
    good = np.zeros((2, 5), np.int32)
    with pytest.raises(ValueError, match="must ascend"):
        document_ids(np.array([3, 1]), np.array([0, 1]), good, good.copy())
    with pytest.raises(ValueError, match="position_ids must be"):
        document_ids(np.array([1]), np.array([0, 1]), good, good[:, :4].copy())
    with pytest.raises(ValueError, match="segment_ids must be"):
        document_ids(np.array([1]), np.array([0]), good, good)
