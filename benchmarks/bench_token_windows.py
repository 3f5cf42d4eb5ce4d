"""Windows of 2,048 tokens out of 256 MiB of chunks of 1 MiB, shuffled, 16 a call: MB a second.

`numpy` indexes one mapping of the same bytes; `ids` makes segment and position ids alone.
"""

import numpy as np
import pytest

from forebay.kernels.align import aligned_empty
from forebay.kernels.blocks import FixedBlocks
from forebay.kernels.token_windows import document_ids, token_windows

LENGTH, BATCH, CHUNKS = 2_048, 16, 256


@pytest.mark.parametrize(
    ("how", "stored", "wanted"),
    [
        ("windows", np.int32, np.int32),
        ("numpy", np.int32, np.int32),
        ("windows", np.uint16, np.int64),
        ("numpy", np.uint16, np.int64),
        ("ids", np.int32, np.int32),
    ],
)
def bench_token_windows(benchmark, how, stored, wanted):
    rng = np.random.default_rng(0)
    stream = aligned_empty(CHUNKS << 20).view(stored)
    stream[:] = 1
    edges = np.arange(CHUNKS + 1) * (stream.size // CHUNKS)
    chunks = FixedBlocks.of(np.split(stream, CHUNKS))
    order = rng.permutation(stream.size // LENGTH - 1) * LENGTH + LENGTH // 2
    batches = [order[i : i + BATCH] for i in range(0, 64 * BATCH, BATCH)]
    documents = np.cumsum(rng.integers(50, 2_000, 2**17))
    out = np.zeros((BATCH, LENGTH), wanted)
    segments, positions = np.zeros((2, BATCH, LENGTH), np.int32)
    number, blocks = np.arange(CHUNKS), stream[: stream.size // LENGTH * LENGTH]
    shifted = blocks[LENGTH // 2 : -LENGTH // 2].reshape(-1, LENGTH)

    def windows():
        for starts in batches:
            token_windows(chunks, number, edges, starts, out)

    def numpy():
        for starts in batches:
            out[:] = shifted[starts // LENGTH]

    def ids():
        for starts in batches:
            document_ids(documents, starts, segments, positions)

    benchmark({"windows": windows, "numpy": numpy, "ids": ids}[how])
    benchmark.extra_info["MB/s"] = len(batches) * out.nbytes / benchmark.stats.stats.median / 1e6
