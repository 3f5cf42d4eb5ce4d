"""CRC-32C: large buffers, and many records in one call. Throughput is bytes over the median.

One core; the buffer of 64 MiB lies in memory, that of 256 KiB in cache.
"""

import numpy as np
import pytest

from forebay.kernels import crc


def noise(nbytes):
    return np.random.default_rng(0).integers(0, 256, nbytes, dtype=np.uint8)


@pytest.mark.parametrize("nbytes", [2**11, 2**18, 2**26])
@pytest.mark.parametrize("function", [crc.crc32c, crc.crc32c_portable])
def bench_crc32c(benchmark, function, nbytes):
    data = noise(nbytes)
    benchmark.extra_info["backend"] = crc.crc32c_backend()
    benchmark(function, data)
    benchmark.extra_info["GB/s"] = nbytes / benchmark.stats.stats.median / 1e9


@pytest.mark.parametrize("record", [200, 2_000, 20_000])
def bench_crc32c_ranges(benchmark, record):
    data = noise(2**24)
    starts = np.arange(0, data.size - record, record)
    benchmark(crc.crc32c_ranges, data, starts, np.full_like(starts, record))
    benchmark.extra_info["GB/s"] = starts.size * record / benchmark.stats.stats.median / 1e9
