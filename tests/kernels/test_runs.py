"""Runs of bytes against slicing them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from forebay.kernels.runs import copy_runs, split_records, take_runs


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


def record(fixed, *values):
    sizes = np.array([len(v) for v in values], "<u4").tobytes()
    return fixed + sizes + b"".join(values)


def laid(records):
    lengths = np.array([len(r) for r in records], np.int64)
    return np.frombuffer(b"".join(records), np.uint8), np.cumsum(lengths) - lengths, lengths


@pytest.mark.parametrize("fields", [0, 1, 3])
def test_values_are_found_in_their_records(fields):
    rng = np.random.default_rng(fields)
    values = [[rng.bytes(int(rng.integers(0, 9))) for _ in range(fields)] for _ in range(50)]
    data, starts, lengths = laid([record(b"12345", *v) for v in values])
    found = split_records(data, starts, lengths, 5 + 4 * fields, fields)
    assert found is not None
    assert found.shape == (fields, 2, 50)
    for f in range(fields):
        for i, row in enumerate(values):
            a, n = found[f, :, i]
            assert data[a : a + n].tobytes() == row[f]


def test_records_that_do_not_add_up():
    good, torn = record(b"", b"abc", b"d"), record(b"", b"abc", b"d")[:-1]
    for wrong in (torn, good + b"x", b"1234567", b"", b"\xff" * 12):
        data, starts, lengths = laid([good, wrong, good])
        assert split_records(data, starts, lengths, 8, 2) is None
    with pytest.raises(IndexError, match="run 1"):
        split_records(data, np.array([0, 1]), np.array([0, 1 << 40]), 8, 2)
    with pytest.raises(ValueError, match="no room"):
        split_records(data, starts, lengths, 7, 2)
    with pytest.raises(ValueError, match="one size"):
        split_records(data, starts, lengths[:1], 8, 2)
