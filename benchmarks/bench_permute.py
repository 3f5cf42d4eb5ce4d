"""The order of an epoch: positions per second on one core, in calls of a million and of a batch."""

import numpy as np
import pytest

from forebay.kernels.permute import permutation, permute
from forebay.kernels.philox import derive_key, draws


@pytest.mark.parametrize("n", [65_536, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("positions", [256, 10**6])
def bench_permute(benchmark, n, positions):
    index = np.random.default_rng(0).integers(0, n, positions)
    key = derive_key(0, 0)
    permute(n, key, index[:1])
    benchmark(permute, n, key, index)
    benchmark.extra_info["M/s"] = positions / benchmark.stats.stats.median / 1e6


@pytest.mark.parametrize("n", [1_000, 65_536])
def bench_exact_table(benchmark, n):
    seeds = iter(range(10**9))
    permutation(n, derive_key(next(seeds)))
    benchmark(lambda: permutation(n, derive_key(next(seeds))))
    benchmark.extra_info["M/s"] = n / benchmark.stats.stats.median / 1e6


def bench_draws(benchmark):
    counters = np.arange(10**6, dtype=np.uint64)
    draws((0, 0), counters[:1])
    benchmark(draws, (0, 0), counters)
    benchmark.extra_info["M blocks/s"] = counters.size / benchmark.stats.stats.median / 1e6
