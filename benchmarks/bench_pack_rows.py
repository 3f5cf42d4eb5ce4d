"""Packing rows of 16 to 128 int32 tokens with their ids, against NumPy: samples a second."""

import numpy as np
import pytest

from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.pack_rows import pack_rows


@pytest.mark.parametrize("n", [256, 16_384])
@pytest.mark.parametrize("how", ["pack_rows", "numpy"])
def bench_pack_rows(benchmark, how, n):
    rng = np.random.default_rng(0)
    lengths = rng.integers(16, 129, 200_000)
    starts = np.cumsum(lengths) - lengths
    values = rng.integers(0, 50_000, int(lengths.sum()), dtype=np.int32)
    blocks = RaggedBlocks.of([(values, starts, lengths)])
    rows = rng.integers(0, len(lengths), n)
    out, positions, segments = np.zeros((3, int(lengths[rows].sum())), np.int32)

    def ours():
        pack_rows(blocks, None, rows, out, position_ids=positions, segment_ids=segments)

    def numpy():
        sizes = lengths[rows]
        begins = np.cumsum(sizes) - sizes
        positions[:] = np.arange(sizes.sum()) - np.repeat(begins, sizes)
        segments[:] = np.repeat(np.arange(n), sizes)
        np.take(values, positions + np.repeat(starts[rows], sizes), out=out, mode="clip")

    benchmark(ours if how == "pack_rows" else numpy)
    benchmark.extra_info["M samples/s"] = n / benchmark.stats.stats.median / 1e6
