"""Runs of any length arrive whole, by either way of copying them."""

from __future__ import annotations

import numpy as np
import pytest

from forebay.formats.recordio.gather import copy_runs, starts_of, take_fixed, windows


@pytest.mark.parametrize("largest", [1, 7, 300, 5000])
def test_copy_runs(largest):
    rng = np.random.default_rng(largest)
    lengths = rng.integers(0, largest + 1, 400)
    source = rng.integers(0, 256, int(lengths.sum()) + 50, dtype=np.uint8)
    source_starts = rng.integers(0, len(source) - lengths + 1)
    order = rng.permutation(400)
    out_starts = np.empty(400, np.int64)
    out_starts[order] = starts_of(lengths[order])
    out = np.zeros(int(lengths.sum()), np.uint8)
    copy_runs(source, source_starts, out, out_starts, lengths)
    for a, b, n in zip(source_starts, out_starts, lengths, strict=True):
        assert (out[b : b + n] == source[a : a + n]).all()


def test_windows_end_with_the_data():
    data = np.arange(10, dtype=np.uint8)
    assert windows(data, 4).shape == (7, 4)
    assert windows(data, 11).shape == (0, 11)
    assert windows(data, 4)[6].tolist() == [6, 7, 8, 9]


def test_take_fixed_reads_unaligned_values():
    data = np.frombuffer(b"\xff" + np.array([5, -6], "<i4").tobytes(), np.uint8)
    assert take_fixed(data, np.array([5, 1]), 4, np.dtype("<i4")).tolist() == [[-6], [5]]
    assert take_fixed(data[:0], np.empty(0, np.int64), 8, np.dtype("<i4")).shape == (0, 2)
