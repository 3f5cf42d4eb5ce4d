"""Gathering rows: rows a second on one core, against NumPy's take and indexing.

`blocks` gathers the same rows out of 280 blocks in one call.
"""

import numpy as np
import pytest

from forebay.kernels.align import aligned_empty
from forebay.kernels.blocks import FixedBlocks, RaggedBlocks
from forebay.kernels.gather import gather_fixed, gather_ragged, gather_rows, ragged_lengths

ROWS, BLOCKS = 560_000, 280
PER = ROWS // BLOCKS


def matrix(rows, width):
    values = aligned_empty(rows * width).reshape(rows, width)
    values[:] = 1
    return values


@pytest.mark.parametrize("n", [256, 65_536])
@pytest.mark.parametrize("width", [8, 80, 512])
@pytest.mark.parametrize("how", ["blocks", "rows", "take", "index"])
def bench_fixed(benchmark, how, width, n):
    values, out = matrix(ROWS, width), matrix(n, width)
    rows = np.random.default_rng(0).integers(0, ROWS, n)
    blocks = FixedBlocks.of(np.split(values, BLOCKS))
    which, inside = rows // PER, rows % PER
    calls = {
        "blocks": lambda: gather_fixed(blocks, which, inside, None, out),
        "rows": lambda: gather_rows(values, rows, out),
        "take": lambda: np.take(values, rows, axis=0, out=out, mode="clip"),
        "index": lambda: values[rows],
    }
    benchmark(calls[how])
    benchmark.extra_info["M rows/s"] = n / benchmark.stats.stats.median / 1e6


@pytest.mark.parametrize("n", [256, 65_536])
@pytest.mark.parametrize("how", ["blocks", "numpy"])
def bench_ragged(benchmark, how, n):
    rng = np.random.default_rng(0)
    lengths = rng.integers(16, 129, 10**5)
    starts = np.cumsum(lengths) - lengths
    values = rng.integers(0, 50_000, int(lengths.sum()), dtype=np.int32)
    blocks = RaggedBlocks.of([(values, starts, lengths)])
    rows = rng.integers(0, len(lengths), n)
    ends = np.cumsum(lengths[rows])
    out = np.empty(int(ends[-1]), np.int32)

    def ours():
        sizes = ragged_lengths(blocks, None, rows)
        gather_ragged(blocks, None, rows, out, np.cumsum(sizes) - sizes)

    def numpy():
        sizes = lengths[rows]
        shift = starts[rows] - (np.cumsum(sizes) - sizes)
        np.take(values, np.arange(sizes.sum()) + np.repeat(shift, sizes), out=out, mode="clip")

    benchmark(ours if how == "blocks" else numpy)
    benchmark.extra_info["M rows/s"] = n / benchmark.stats.stats.median / 1e6
