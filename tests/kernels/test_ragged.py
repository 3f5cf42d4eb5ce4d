"""Rows found once: shortened, padded to spans of differing width, and spans that do not fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.kernels import _native
from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.ragged import find_rows

GUARD = 77


@settings(deadline=None)
@given(
    dtype=st.sampled_from(["u1", "<i2", "<i4", "<f8"]),
    n=st.integers(0, 40),
    most=st.none() | st.integers(0, 45),
    fill=st.sampled_from([0, 1, 200]),
    left=st.booleans(),
)
def test_spans_of_differing_width(draw_rows, dtype, n, most, fill, left):
    drawn = draw_rows(n, dtype, n)
    rng = np.random.default_rng(n)
    found = find_rows("test", drawn.blocks, drawn.which, drawn.rows)
    rows = drawn.expected
    if most is not None:
        found.shorten(most)
        rows = [row[:most] for row in rows]
    assert found.lengths.tolist() == [len(row) for row in rows]
    widths = rng.integers(0, 50, n)
    # Spans in reverse order, three elements apart.
    starts = (np.cumsum((widths + 3)[::-1]) - widths[::-1])[::-1].copy()
    out = np.full(int((widths + 3).sum()) + 1, GUARD, dtype)
    expected = out.copy()
    value = np.array([fill]).astype(dtype)[0]
    for row, start, width in zip(rows, starts, widths, strict=True):
        blank = np.full(max(0, width - len(row)), value)
        kept = row[:width]
        expected[start : start + width] = np.r_[blank, kept] if left else np.r_[kept, blank]
    assert found.pad_to(out, starts, widths, fill=value, left=left) == -1
    assert out.tobytes() == expected.tobytes()


def test_rows_outlive_the_names_of_their_blocks():
    blocks = RaggedBlocks.of([(np.arange(5000), np.array([4000]), np.array([1000]))])
    found = find_rows("test", blocks, None, np.array([0, 0]))
    del blocks
    junk = [np.full(5000, -1) for _ in range(20)]
    out = np.empty(2000, np.int64)
    assert found.copy_to(out, np.array([0, 1000])) == -1
    assert (out.reshape(2, 1000) == np.arange(4000, 5000)).all()
    assert len(junk) == 20


@pytest.mark.parametrize(
    ("start", "width"), [(-1, 1), (0, -1), (0, 6), (5, 1), (2**63 - 1, 1), (1, 2**63 - 1)]
)
def test_a_span_that_does_not_fit_is_told_and_nothing_written(start, width):
    blocks = RaggedBlocks.of([(np.ones(9, np.int32), np.array([0]), np.array([2]))])
    found = find_rows("test", blocks, None, np.array([0, 0]))
    out = np.full(5, GUARD, np.int32)
    starts, widths = np.array([0, start]), np.array([1, width])
    assert found.pad_to(out, starts, widths) == 8 * 1 + 4
    assert (out == GUARD).all()


def test_native_sizes_must_agree():
    none, two = np.empty(0, np.int64), np.zeros(2, np.int64)
    address = two.astype(np.uint64)
    table = np.zeros((1, 5), np.uint64)
    for which, found, lengths in ((two[:1], address, two), (none, address[:1], two)):
        with pytest.raises(ValueError, match="as long as rows"):
            _native.find_ragged(table, which, two, 4, found, lengths)
    with pytest.raises(ValueError, match="copy_ragged: the sizes differ"):
        _native.copy_ragged(address, two, 4, two[:1], 0, 0)
    with pytest.raises(ValueError, match="pad_ragged: the sizes differ"):
        _native.pad_ragged(address, two, 4, two, two[:1], 0, False, 0, 0)
    with pytest.raises(ValueError, match="1, 2, 4 or 8 bytes"):
        _native.pad_ragged(address, two, 3, two, two, 0, False, 0, 0)
