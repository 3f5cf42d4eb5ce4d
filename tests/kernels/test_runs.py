"""Runs of bytes against slicing them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from forebay.kernels.runs import copy_runs, take_runs


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 12, 16, 80, 5000])
def test_take_runs(width):
    rng = np.random.default_rng(width)
    data = rng.integers(0, 256, 9000, dtype=np.uint8)
    starts = rng.integers(0, len(data) - width + 1, 300)
    starts[:2] = 0, len(data) - width
    expected = np.concatenate([data[a : a + width] for a in starts])
    assert (take_runs(data, starts, width) == expected).all()
    out = np.zeros(300 * width, np.uint8)
    assert take_runs(data, starts, width, out) is out
    assert (out == expected).all()
    assert (take_runs(data, starts[::-1], width)[:width] == expected[-width:]).all()


def test_take_runs_of_no_width_and_none():
    data = np.arange(4, dtype=np.uint8)
    assert take_runs(data, np.array([1, 2]), 0).size == 0
    assert take_runs(data[:0], np.empty(0, np.int64), 8).size == 0
    with pytest.raises(ValueError, match="at least 0"):
        take_runs(data, np.array([1]), -1)
    with pytest.raises(ValueError, match="width bytes"):
        take_runs(data, np.array([1]), 2, np.empty(3, np.uint8))
    with pytest.raises(ValueError, match="width 0"):
        take_runs(data, np.array([1]), 0, np.empty(3, np.uint8))


@pytest.mark.parametrize("start", [-1, 7, 1 << 62, -(1 << 62)])
def test_runs_outside_are_refused_before_anything_is_written(start):
    data, out = np.ones(10, np.uint8), np.zeros(10, np.uint8)
    with pytest.raises(IndexError, match="run 1"):
        take_runs(data, np.array([0, start]), 5, out)
    five = np.array([5, 5])
    with pytest.raises(IndexError, match=r"run 1 .* data"):
        copy_runs(data, np.array([0, start]), out, np.array([0, 5]), five)
    with pytest.raises(IndexError, match=r"run 1 .* out"):
        copy_runs(data, np.array([0, 5]), out, np.array([0, start]), five)
    with pytest.raises(IndexError, match="run 0"):
        copy_runs(data, np.array([0]), out, np.array([0]), np.array([-1]))
    with pytest.raises(ValueError, match="one size"):
        copy_runs(data, np.array([0]), out, np.array([0]), five)
    assert not out.any()


def test_copy_runs_of_any_length():
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 600, 200)
    data = rng.integers(0, 256, 5000, dtype=np.uint8)
    starts = rng.integers(0, len(data) - lengths + 1)
    order = rng.permutation(200)
    places = np.empty(200, np.int64)
    places[order] = np.cumsum(lengths[order]) - lengths[order]
    out = np.zeros(int(lengths.sum()), np.uint8)
    copy_runs(data, starts, out, places, lengths)
    for a, b, n in zip(starts, places, lengths, strict=True):
        assert (out[b : b + n] == data[a : a + n]).all()
