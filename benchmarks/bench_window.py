"""The window order: positions a second on one core, in calls of a batch and of many."""

import numpy as np
import pytest

from forebay.dataloader.plan.window import Window, WindowShape

TOTAL = 10**6


@pytest.mark.parametrize("n", [256, 65_536])
@pytest.mark.parametrize(
    ("blocks", "shape"), [(280, (48, 1)), (10_000, (48, 13)), (280, (1, 280)), (16, (1, 1))]
)
def bench_locate(benchmark, blocks, shape, n):
    first_row = np.linspace(0, TOTAL, blocks + 1).astype(np.int64)
    order = Window(first_row, 0, 0, WindowShape(*shape))
    calls = [np.arange(at, at + n) for at in range(0, min(TOTAL - n, 256 * n), n)]

    def epoch():
        for positions in calls:
            order.locate(positions)

    epoch()
    benchmark(epoch)
    benchmark.extra_info["M/s"] = n * len(calls) / benchmark.stats.stats.median / 1e6
