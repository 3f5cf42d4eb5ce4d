"""Columns side by side and their way back, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels.columns import column_table, gather_columns, interleave

WIDTHS = st.sampled_from([1, 2, 4, 8])


def numbers(rng, rows, count, width):
    return rng.integers(0, 255, (rows, count * width), np.uint8).view(f"u{width}")


@given(WIDTHS, st.integers(0, 100), st.integers(0, 40), st.integers(0, 9))
def test_interleave_equals_a_transpose(width, rows, count, spare):
    columns = numbers(np.random.default_rng(rows), count, rows, width)
    data = np.concatenate([np.zeros(spare, np.uint8), columns.reshape(-1).view(np.uint8)])
    out = np.full(rows * count * width + 3, 7, np.uint8)
    interleave(data, [spare + i * rows * width for i in range(count)], rows, width, out)
    assert out[:-3].tobytes() == columns.T.tobytes()
    assert out[-3:].tolist() == [7, 7, 7]


@given(
    WIDTHS, st.integers(1, 40), st.integers(0, 70), st.integers(0, 30), st.sampled_from("tcm"),
    st.integers(0, 99),
)  # fmt: skip
def test_gather_equals_numpy(width, count, n, spare, layout, seed):
    rng = np.random.default_rng(seed)
    # Side by side, each by itself, or some of both.
    tables = [numbers(rng, int(rng.integers(1, 50)), count, width) for _ in range(4)]
    blocks = [
        [
            t[:, c] if layout == "t" or (layout == "m" and c % 7) else t[:, c].copy()
            for c in range(count)
        ]
        for t in tables
    ]
    which = rng.integers(0, len(blocks), n)
    rows = np.array([rng.integers(0, len(tables[b])) for b in which], np.int64)
    places = rng.permutation(n + spare)[:n]
    outs = [np.full(n + spare, 9, f"u{width}") for _ in range(count)]
    expected = np.full((count, n + spare), 9, f"u{width}")
    for b, row, place in zip(which, rows, places, strict=True):
        expected[:, place] = tables[b][row]
    found = [column_table(columns) for columns in blocks]
    gather_columns([t for t in found if t is not None], which, rows, places, outs)
    assert len(found) == 4
    np.testing.assert_array_equal(np.stack(outs), expected)


def test_in_order_of_one_block():
    table = np.arange(40, dtype=np.float32).reshape(20, 2)
    outs = [np.zeros(20, np.float32), np.zeros(20, np.float32)]
    found = column_table([table[:, 0], table[:, 1]])
    assert found is not None
    gather_columns([found], None, np.arange(20), None, outs)
    np.testing.assert_array_equal(np.stack(outs, 1), table)


@pytest.mark.parametrize(
    ("which", "row", "place"), [(-1, 0, 0), (2, 0, 0), (0, -1, 0), (1, 3, 0), (0, 0, -1), (0, 0, 5)]
)
def test_what_does_not_exist_is_refused(which, row, place):
    # A block has the rows that all of its columns have.
    blocks = [[np.zeros(9, "u2"), np.zeros(9, "u2")], [np.zeros(9, "u2"), np.zeros(3, "u2")]]
    tables = [column_table(columns) for columns in blocks]
    outs = [np.full(5, 7, "u2") for _ in range(2)]
    with pytest.raises(IndexError, match="number 1 of 2"):
        gather_columns(
            [t for t in tables if t is not None],
            np.array([0, which]), np.array([0, row]), np.array([1, place]), outs,
        )  # fmt: skip
    assert np.stack(outs).tolist() == [[7] * 5] * 2


def test_only_forward_scalars_of_one_width_have_a_table():
    one = np.zeros(6, np.float32)
    for other in (np.zeros(6), np.zeros((6, 1), np.float32), one[::-1], np.zeros(6, "V3")):
        assert column_table([one, other]) is None
    assert column_table([np.zeros(6, "V3")]) is None
    table = column_table([one[::2], one[:1]])
    assert table is not None
    assert table[:, 1:].tolist() == [[3, 8], [1, 4]]


def test_sizes_must_agree():
    table = column_table([np.zeros(6, "u4"), np.zeros(6, "u4")])
    assert table is not None
    index = np.arange(2)
    for outs in (
        [np.zeros(2, "u4")],
        [np.zeros(2, "u4"), np.zeros(3, "u4")],
        [np.zeros(2, "u4"), np.zeros(2, "u8")],
        [np.zeros(2, "u4"), np.zeros(4, "u4")[::2]],
    ):
        with pytest.raises(ValueError, match="gather_columns: "):
            gather_columns([table], None, index, None, outs)
    with pytest.raises(ValueError, match="which must have shape"):
        gather_columns([table], index[:1], index, None, [np.zeros(2, "u4"), np.zeros(2, "u4")])
    data, out = np.zeros(64, np.uint8), np.zeros(63, np.uint8)
    for starts in ([-1, 0], [33, 0], [2**40, 0], [0, 32]):
        with pytest.raises(IndexError):
            interleave(data, starts, 8, 4, out)
    with pytest.raises(IndexError):
        interleave(data, [0, 0], 2**62, 4, out)
    with pytest.raises(ValueError, match="1, 2, 4 or 8 bytes"):
        interleave(data, [0], 8, 3, out)
