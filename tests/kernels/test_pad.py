"""Padding against a loop of NumPy assignments."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.pad import pad


def twin(out, places, rows, fill, left):
    width = out.shape[1]
    for place, row in zip(places, rows, strict=True):
        kept = row[:width]
        out[place] = fill
        out[place, width - len(kept) if left else 0 :][: len(kept)] = kept


@settings(deadline=None)
@given(
    dtype=st.sampled_from(["u1", "<i2", "<i4", "<f4", "<f8"]),
    n=st.integers(0, 60),
    width=st.integers(0, 50),
    left=st.booleans(),
    scattered=st.booleans(),
    fill=st.sampled_from([0, 1, 100]),
)
def test_equals_its_twin(draw_rows, dtype, n, width, left, scattered, fill):
    drawn = draw_rows(n * 51 + width, dtype, n)
    out = np.full((n + 3, width), 77, dtype)
    expected = out.copy()
    places = np.random.default_rng(n).permutation(n + 3)[:n] if scattered else np.arange(n)
    twin(expected, places, drawn.expected, fill, left)
    kept = pad(
        drawn.blocks,
        drawn.which,
        drawn.rows,
        places if scattered else None,
        out,
        fill=fill,
        left=left,
    )
    assert out.tobytes() == expected.tobytes()
    assert kept.tolist() == [min(width, len(row)) for row in drawn.expected]


def test_fill_is_of_the_dtype():
    blocks = RaggedBlocks.of([(np.ones(2, np.int32), np.array([0]), np.array([2]))])
    out = np.zeros((1, 5), np.int32)
    pad(blocks, None, np.array([0]), None, out, fill=-100)
    assert out.tolist() == [[1, 1, -100, -100, -100]]
    floats = RaggedBlocks.of([(np.ones(2, np.float32), np.array([0]), np.array([1]))])
    out = np.zeros((1, 3), np.float32)
    pad(floats, None, np.array([0]), None, out, fill=np.nan, left=True)
    assert np.isnan(out[0, :2]).all()
    assert out[0, 2] == 1
    bytes_ = RaggedBlocks.of([(np.ones(2, np.uint8), np.array([0]), np.array([2]))])
    with pytest.raises(OverflowError):
        pad(bytes_, None, np.array([0]), None, np.zeros((1, 5), np.uint8), fill=300)


@pytest.mark.parametrize(("row", "place"), [(1, 0), (-1, 0), (0, 2), (0, -1)])
def test_bad_names_write_nothing(row, place):
    blocks = RaggedBlocks.of([(np.ones(9, np.int32), np.array([0]), np.array([9]))])
    out = np.full((2, 5), 77, np.int32)
    with pytest.raises(IndexError, match=rf"pad: row {row} of block 0 \(number 1 of 2\)"):
        pad(blocks, None, np.array([0, row]), np.array([1, place]), out)
    assert (out == 77).all()


def test_what_is_refused():
    blocks = RaggedBlocks.of([(np.ones(9, np.int32), np.array([0]), np.array([9]))])
    rows = np.array([0])
    with pytest.raises(ValueError, match=r"out must be \(m, width\), got shape \(5,\)"):
        pad(blocks, None, rows, None, np.zeros(5, np.int32))
    with pytest.raises(ValueError, match="int32"):
        pad(blocks, None, rows, None, np.zeros((1, 5), np.int64))
    wide = RaggedBlocks.of([(np.ones(9, np.complex128), np.array([0]), np.array([9]))])
    with pytest.raises(TypeError, match="1, 2, 4 or 8 bytes, got complex128"):
        pad(wide, None, rows, None, np.zeros((1, 5), np.complex128))


def test_threads_write_their_own_places(draw_rows):
    drawn = draw_rows(5, "<i4", 4000)
    out = np.full((4000, 40), 77, np.int32)
    expected = out.copy()
    twin(expected, range(4000), drawn.expected, 0, False)

    def work(i):
        mine = np.arange(i, 4000, 4)
        pad(drawn.blocks, drawn.which[mine], drawn.rows[mine], mine, out)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(out, expected)
