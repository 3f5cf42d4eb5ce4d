"""Positions to windows, rows and blocks: against plain Python, and refused where they lead nowhere.

That whole epochs come out right is tested with the plan that calls this.
"""

import bisect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels.blocks import address_of
from forebay.kernels.window_rows import LARGE, MISSING, locate_rows, place_rows, shuffle_positions


def parts(sizes):
    return np.r_[0, np.cumsum(np.array(sizes, np.int64))]


def twin(positions, lane_start, windows, shuffles):
    """(window, row) of each position; a window without a shuffle keeps its order."""
    found = []
    for position in positions:
        step, lane = divmod(position, len(lane_start) - 1)
        row = int(lane_start[lane]) + step
        window = bisect.bisect_right(windows, row) - 1
        if shuffles[window] is not None:
            row = int(windows[window]) + int(shuffles[window][row - windows[window]])
        found.append((window, row))
    return found


@st.composite
def orders(draw):
    """Lanes of equal length, cut into windows at some rows."""
    lanes, total = draw(st.integers(1, 6)), draw(st.integers(6, 90))
    sizes = (total - np.arange(lanes) + lanes - 1) // lanes
    lane_start = parts(sizes)
    cuts = draw(st.sets(st.integers(1, total - 1), max_size=9))
    windows = np.unique([*lane_start, *cuts]).astype(np.int64)
    positions = draw(st.lists(st.integers(0, total - 1), max_size=40))
    return np.array(positions, np.int64), lane_start, windows


@given(orders(), st.randoms(use_true_random=False))
def test_windows_and_rows(order, random):
    positions, lane_start, windows = order
    kinds = [random.choice(["tables", "large", "missing"]) for _ in windows[1:]]
    shuffles = [
        np.array(random.sample(range(int(n)), int(n)), np.uint16) if kind == "tables" else None
        for n, kind in zip(np.diff(windows), kinds, strict=True)
    ]
    tables = np.array(
        [
            address_of(shuffle) if shuffle is not None else LARGE if kind == "large" else MISSING
            for shuffle, kind in zip(shuffles, kinds, strict=True)
        ],
        np.uint64,
    )
    out = np.empty((3, len(positions)), np.int64)
    bad, missing, large = shuffle_positions(positions, lane_start, windows, tables, out)
    expected = twin(positions.tolist(), lane_start, windows.tolist(), shuffles)
    assert bad == -1
    assert list(zip(out[0].tolist(), out[1].tolist(), strict=True)) == expected
    met = [kinds[window] for window, _ in expected]
    assert large == met.count("large")
    assert {*out[2, :missing].tolist()} == {w for w, _ in expected if kinds[w] == "missing"}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.data())
def test_blocks_of_rows(sizes, data):
    starts = parts(sizes)
    if not starts[-1]:
        return
    blocks = np.array(data.draw(st.permutations(range(len(sizes)))), np.int64)
    rows = np.arange(starts[-1])
    row, block = rows.copy(), np.empty_like(rows)
    # One window over all of them.
    edges = np.array([0, len(sizes)], np.int64)
    place_rows(np.zeros_like(rows), edges, starts, blocks, row, block)
    places = np.repeat(np.arange(len(sizes)), sizes)
    assert np.array_equal(block, blocks[places])
    assert np.array_equal(row, rows - starts[places])


@pytest.mark.parametrize("position", [-1, 10, 2**62])
def test_positions_that_do_not_exist(position):
    out = np.empty((3, 2), np.int64)
    lanes = windows = parts([10])
    tables = np.array([LARGE])
    positions = np.array([3, position])
    assert shuffle_positions(positions, lanes, windows, tables, out)[0] == 1


def test_windows_that_do_not_ascend_lead_nowhere():
    out = np.empty((3, 1), np.int64)
    table = np.zeros(4, np.uint16)
    windows, tables = np.array([8, 4, 10]), np.array([LARGE, address_of(table)], np.uint64)
    lanes = parts([10])
    assert shuffle_positions(np.array([0]), lanes, windows, tables, out)[0] == 0


@pytest.mark.parametrize("window", [-1, 2])
def test_windows_that_do_not_exist(window):
    row = np.zeros(1, np.int64)
    with pytest.raises(IndexError, match=rf"window {window} \(number 0 of 1\).*2 windows of 3"):
        place_rows(
            np.array([window]), np.array([0, 1, 3]), parts([2, 2, 2]), np.arange(3), row, row.copy()
        )


def test_an_epoch_of_no_rows():
    out, none = np.empty((3, 1), np.int64), np.empty(0, np.int64)
    lanes, windows, tables = parts([0]), parts([]), np.empty(0, np.uint64)
    assert shuffle_positions(none, lanes, windows, tables, out[:, :0].copy()) == (-1, 0, 0)
    assert shuffle_positions(np.zeros(1, np.int64), lanes, windows, tables, out)[0] == 0
    place_rows(none, parts([]), parts([]), none, none, none)
    with pytest.raises(ValueError, match="rows but no window"):
        shuffle_positions(none, np.array([0, 5]), np.array([5]), tables, out[:, :0].copy())


def test_sizes_are_checked():
    one, out = parts([10]), np.empty((3, 1), np.int64)
    tables, position = np.array([LARGE]), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="a table for each window"):
        shuffle_positions(position, one, one, tables[:0], out)
    with pytest.raises(ValueError, match="the same rows"):
        shuffle_positions(position, parts([9]), one, tables, out)
    with pytest.raises(ValueError, match=r"\(3, positions\)"):
        shuffle_positions(np.zeros(2, np.int64), one, one, tables, out)
    with pytest.raises(ValueError, match="blocks have a start"):
        place_rows(position, one, one, np.arange(2), position.copy(), position.copy())
    with pytest.raises(ValueError, match="one size"):
        place_rows(position, one, one, np.arange(1), np.zeros(2, np.int64), position.copy())


SIZES = st.one_of(
    st.lists(st.integers(0, 50), min_size=1, max_size=60),
    # As far from equal as can be: what is guessed is wrong by many parts.
    st.lists(st.sampled_from([0, 1, 10**6]), min_size=1, max_size=60),
).filter(any)


@given(SIZES, st.data())
def test_rows_of_parts(sizes, data):
    starts = parts(sizes)
    total = int(starts[-1])
    rows = np.array(data.draw(st.lists(st.integers(0, total - 1), max_size=40)), np.int64)
    place, offset = locate_rows(rows, starts)
    expected = np.searchsorted(starts, rows, side="right") - 1
    assert place.tolist() == expected.tolist()
    assert offset.tolist() == (rows - starts[expected]).tolist()


def test_rows_of_many_parts():
    sizes = np.random.default_rng(0).integers(0, 2000, 100_000)
    starts = parts(sizes)
    rows = np.random.default_rng(1).integers(0, starts[-1], 50_000)
    place, _ = locate_rows(rows, starts)
    assert np.array_equal(place, np.searchsorted(starts, rows, side="right") - 1)


@pytest.mark.parametrize("bad", [-1, 6, 2**62])
def test_a_row_in_no_part_is_named(bad):
    with pytest.raises(
        IndexError, match=rf"row {bad} \(number 1 of 3\) does not exist: there are 6"
    ):
        locate_rows(np.array([0, bad, 1]), parts([1, 2, 3]))


def test_what_rows_of_parts_refuses():
    none = np.empty(0, np.int64)
    assert [a.tolist() for a in locate_rows(none, np.zeros(1, np.int64))] == [[], []]
    with pytest.raises(IndexError, match=r"row 0 .* does not exist"):
        locate_rows(np.zeros(1, np.int64), np.zeros(1, np.int64))
    with pytest.raises(IndexError, match="row 0 "):
        locate_rows(np.zeros(1, np.int64), np.array([3, 5]))
    with pytest.raises(ValueError, match="starts must end in a total"):
        locate_rows(none, none)
    with pytest.raises(ValueError, match="rows but no part"):
        locate_rows(none, np.array([4]))
    with pytest.raises(TypeError):
        locate_rows(np.zeros(1, np.int32), parts([3]))
