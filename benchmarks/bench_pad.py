"""Padding rows of 16 to 128 int32 tokens, drawn at random out of 280 blocks (290 MB in all).

Samples a second, one core; `threads` shares the batches over two. `plain` is a loop in numba over
one array without checks or looking ahead: what a careful user writes.
"""

import threading

import numba
import numpy as np
import pytest

from forebay.kernels.align import aligned_empty
from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.pad import pad

BLOCKS, PER, WIDTH = 280, 3_570, 128


@numba.njit(nogil=True)
def plain(values, starts, lengths, rows, out):
    for i in range(rows.size):
        start, length = starts[rows[i]], lengths[rows[i]]
        for j in range(length):
            out[i, j] = values[start + j]
        for j in range(length, out.shape[1]):
            out[i, j] = 0


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    lengths = rng.integers(16, WIDTH + 1, BLOCKS * PER)
    starts = np.cumsum(lengths) - lengths
    values = aligned_empty(4 * int(lengths.sum())).view(np.int32)
    values[:] = rng.integers(0, 50_000, values.size)
    blocks = RaggedBlocks(np.int32)
    for b in range(BLOCKS):
        part = slice(b * PER, (b + 1) * PER)
        first = int(starts[part][0])
        stop = int(starts[part][-1] + lengths[part][-1])
        blocks.put(values[first:stop], starts[part] - first, lengths[part].copy())
    return values, starts, lengths, blocks, rng.permutation(BLOCKS * PER)


@pytest.mark.parametrize("n", [256, 4_096, 65_536])
@pytest.mark.parametrize("how", ["pad", "left", "plain", "threads"])
def bench_pad(benchmark, samples, how, n):
    values, starts, lengths, blocks, order = samples
    count = min(64, len(order) // n)
    batches = [order[i * n : (i + 1) * n] for i in range(count)]
    named = [(batch // PER, batch % PER) for batch in batches]
    outs = [aligned_empty(4 * n * WIDTH).view(np.int32).reshape(n, WIDTH) for _ in range(2)]

    def padded(first, step, left=False):
        for which, rows in named[first::step]:
            pad(blocks, which, rows, None, outs[first], left=left)

    def shared():
        other = threading.Thread(target=padded, args=(1, 2))
        other.start()
        padded(0, 2)
        other.join()

    calls = {
        "pad": lambda: padded(0, 1),
        "left": lambda: padded(0, 1, left=True),
        "plain": lambda: [plain(values, starts, lengths, batch, outs[0]) for batch in batches],
        "threads": shared,
    }
    calls[how]()
    benchmark(calls[how])
    benchmark.extra_info["M samples/s"] = n * count / benchmark.stats.stats.median / 1e6
