"""Packing against np.concatenate, and the ids that attention takes."""

import numpy as np
import pytest

from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.pack_rows import pack_rows


@pytest.mark.parametrize("dtype", ["u1", "<u2", "<i4", "<i8"])
@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_equals_concatenation(dtype, n, draw_rows):
    drawn = draw_rows(n, dtype, n)
    lengths = [len(row) for row in drawn.expected]
    total = sum(lengths)
    out = np.full(total + 4, 77, dtype)
    positions, segments = np.full((2, total + 4), -7, np.int32)
    edges = pack_rows(
        drawn.blocks, drawn.which, drawn.rows, out, position_ids=positions, segment_ids=segments
    )
    assert edges.dtype == np.int32
    assert edges.tolist() == np.r_[0, np.cumsum(lengths)].astype(int).tolist()
    assert out[:total].tobytes() == b"".join(row.tobytes() for row in drawn.expected)
    assert positions[:total].tolist() == [j for size in lengths for j in range(size)]
    assert segments[:total].tolist() == np.repeat(np.arange(n), lengths).tolist()
    assert (out[total:] == 77).all()
    assert (positions[total:] == -7).all()
    assert (segments[total:] == -7).all()


def test_what_does_not_fit_is_refused():
    blocks = RaggedBlocks.of([(np.ones(9, np.int32), np.array([0, 2]), np.array([9, 3]))])
    out = np.full(11, 77, np.int32)
    with pytest.raises(IndexError, match=r"number 1 of 2\): it does not fit out"):
        pack_rows(blocks, None, np.array([0, 1]), out)
    assert (out == 77).all()
    with pytest.raises(ValueError, match="position_ids must be writable contiguous int32"):
        pack_rows(blocks, None, np.array([0]), out, position_ids=np.zeros(11, np.int64))
    with pytest.raises(ValueError, match="segment_ids"):
        pack_rows(blocks, None, np.array([0]), out, segment_ids=np.zeros(10, np.int32))


def test_more_than_int32_counts_is_refused():
    huge = np.empty(2**20, np.uint8)
    blocks = RaggedBlocks.of([(huge, np.array([0]), np.array([2**20]))])
    with pytest.raises(OverflowError, match="2147483648"):
        pack_rows(blocks, None, np.zeros(2**11, np.int64), np.empty(0, np.uint8))
