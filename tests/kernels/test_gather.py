"""Gathering rows against NumPy's own indexing, and names that do not exist."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.kernels import _native
from forebay.kernels.blocks import FixedBlocks, RaggedBlocks
from forebay.kernels.gather import gather_fixed, gather_ragged, gather_rows, ragged_lengths

DTYPES = ["u1", "<i2", "<f4", "<i8", "<c16"]
GUARD = 77


@settings(deadline=None)
@given(
    st.sampled_from([*DTYPES, "S3", "S5", "S700"]),
    st.sampled_from([(), (1,), (3,), (2, 5)]),
    st.integers(1, 50),
    st.integers(0, 70),
    st.integers(0, 99),
)
def test_rows_equal_numpy(dtype, shape, rows, n, seed):
    rng = np.random.default_rng(seed)
    size = np.dtype(dtype).itemsize * int(np.prod((rows, *shape)))
    values = rng.integers(0, 256, size, dtype=np.uint8).view(dtype).reshape(rows, *shape)
    index = rng.integers(0, rows, n)
    out = np.zeros((n + 1, *shape), dtype)
    gather_rows(values, index, out)
    assert out[:n].tobytes() == values[index].tobytes()
    assert out[n:].tobytes() == bytes(out[n:].nbytes)


@settings(deadline=None)
@given(st.sampled_from(DTYPES), st.integers(0, 60), st.integers(0, 99))
def test_many_blocks_and_places(dtype, n, seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(0, 100, (int(rng.integers(1, 9)), 3)).astype(dtype) for _ in range(5)]
    which = rng.integers(0, 5, n)
    rows = np.array([rng.integers(0, len(arrays[b])) for b in which], np.int64)
    places = rng.permutation(n + 4)[:n]
    out = np.full((n + 4, 3), GUARD, dtype)
    expected = out.copy()
    for b, r, p in zip(which, rows, places, strict=True):
        expected[p] = arrays[b][r]
    gather_fixed(FixedBlocks.of(arrays), which.astype(np.int32), rows, places, out)
    assert np.array_equal(out, expected)


@settings(deadline=None)
@given(
    st.sampled_from([*DTYPES, "S3", "S700"]),
    st.sampled_from([(1,), (3,), (2, 5)]),
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40), st.integers(0, 9)), min_size=1),
    st.integers(0, 60),
    st.integers(0, 99),
)
def test_rows_that_lie_apart(dtype, shape, blocks, n, seed):
    """Each block is (rows, bytes between rows, bytes before the first): views of bytes."""
    rng = np.random.default_rng(seed)
    width = np.dtype(dtype).itemsize * int(np.prod(shape))
    arrays = []
    for rows, gap, before in blocks:
        data = rng.integers(0, 256, before + rows * (width + gap), dtype=np.uint8)
        apart = data[before:].reshape(rows, width + gap)[:, :width]
        arrays.append(apart.view(dtype).reshape(rows, *shape))
        assert np.shares_memory(arrays[-1], data)
    which = rng.integers(0, len(arrays), n)
    rows = np.array([rng.integers(0, len(arrays[b])) for b in which], np.int64)
    out = np.zeros((n, *shape), dtype)
    gather_fixed(FixedBlocks.of(arrays), which, rows, None, out)
    expected = [arrays[b][r].tobytes() for b, r in zip(which, rows, strict=True)]
    assert out.tobytes() == b"".join(expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 200])
def test_ragged_equals_numpy(dtype, n, draw_rows):
    drawn = draw_rows(n, dtype, n)
    lengths = ragged_lengths(drawn.blocks, drawn.which, drawn.rows)
    assert lengths.tolist() == [len(row) for row in drawn.expected]
    # Runs lie in reverse order, three elements apart.
    steps = lengths[::-1] + 3
    starts = (np.cumsum(steps) - steps)[::-1]
    out = np.full(int(steps.sum()) + 1, GUARD, dtype)
    expected = out.copy()
    for start, row in zip(starts, drawn.expected, strict=True):
        expected[start : start + len(row)] = row
    gather_ragged(drawn.blocks, drawn.which, drawn.rows, out, starts)
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("which", "row", "place", "reason"),
    [
        (2, 0, 0, "no such block"),
        (-1, 0, 0, "no such block"),
        (0, 5, 0, "outside its block"),
        (1, -1, 0, "outside its block"),
        (1, 2**62, 0, "outside its block"),
        (1, 0, 4, "place lies outside out"),
        (1, 0, -1, "place lies outside out"),
    ],
)
def test_a_bad_name_is_told_and_nothing_written(which, row, place, reason):
    blocks = FixedBlocks.of([np.ones((5, 2), np.int16), np.ones((6, 2), np.int16)])
    blocks.put(np.ones((1, 2), np.int16))
    blocks.drop(2)
    if which == 2:
        which = 8
    out = np.full((4, 2), GUARD, np.int16)
    with pytest.raises(
        IndexError, match=rf"row {row} of block {which} \(number 1 of 3\).*{reason}"
    ):
        gather_fixed(
            blocks, np.array([0, which, 0]), np.array([0, row, 0]), np.array([0, place, 1]), out
        )
    assert (out == GUARD).all()


@pytest.mark.parametrize(
    ("start", "length"), [(-1, 1), (0, -1), (0, 11), (10, 1), (2**63 - 1, 1), (1, 2**63 - 1)]
)
def test_a_span_outside_its_values_is_told(start, length):
    blocks = RaggedBlocks.of(
        [(np.zeros(10, np.int32), np.array([0, start]), np.array([10, length]))]
    )
    out = np.full(30, GUARD, np.int32)
    with pytest.raises(
        IndexError, match=r"row 1 of block 0 .*do not lie inside its block's values"
    ):
        gather_ragged(blocks, None, np.array([0, 1]), out, np.array([0, 10]))
    assert (out == GUARD).all()


@pytest.mark.parametrize("start", [-1, 21, 2**63 - 1])
def test_a_run_that_does_not_fit_is_told(start):
    blocks = RaggedBlocks.of([(np.zeros(10, np.int32), np.array([0]), np.array([10]))])
    out = np.full(30, GUARD, np.int32)
    with pytest.raises(IndexError, match=r"number 1 of 2.*does not fit out"):
        gather_ragged(blocks, None, np.array([0, 0]), out, np.array([0, start]))
    assert (out == GUARD).all()


def test_shapes_and_types_are_refused():
    values, out = np.zeros((5, 2), np.int16), np.zeros((3, 2), np.int16)
    with pytest.raises(IndexError, match="place lies outside"):
        gather_rows(values, np.arange(4), out)
    with pytest.raises(ValueError, match=r"out must be rows of int16 \(2,\), got int32"):
        gather_rows(values, np.arange(3), out.astype(np.int32))
    with pytest.raises(ValueError, match="contiguous"):
        gather_rows(values, np.arange(3), np.zeros((6, 2), np.int16)[::2])
    with pytest.raises(TypeError, match="float64"):
        gather_rows(values, np.zeros(3), out)
    with pytest.raises(TypeError, match="objects"):
        gather_rows(np.array([None]), np.zeros(1, int), np.array([None]))
    with pytest.raises(ValueError, match=r"which must have shape \(3,\)"):
        gather_fixed(FixedBlocks.of([values]), np.zeros(2, int), np.arange(3), None, out)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        gather_rows(values, np.arange(3), out)


def test_no_rows_of_no_width():
    gather_rows(np.zeros((4, 0)), np.arange(4), np.zeros((4, 0)))
    gather_rows(np.zeros((0, 3)), np.arange(0), np.zeros((0, 3)))


def test_native_names_are_of_one_size():
    table, rows, none = np.zeros((1, 3), np.uint64), np.zeros(2, np.int64), np.empty(0, np.int64)
    for which, places in ((rows[:1], none), (none, rows[:1])):
        with pytest.raises(ValueError, match="as long as rows"):
            _native.gather_fixed(table, which, rows, places, 2, 8, 0)
