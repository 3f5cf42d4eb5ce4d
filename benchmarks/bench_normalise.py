"""64 images of 224 x 224 x 3 bytes to float32 by a table: images a second on one core."""

import numpy as np
import pytest

from forebay.kernels.align import aligned_empty
from forebay.kernels.normalise import normalise


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
@pytest.mark.parametrize("how", ["normalise", "numpy"])
def bench_normalise(benchmark, how, layout):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (64, 224, 224, 3), dtype=np.uint8)
    table = rng.normal(size=(3, 256)).astype(np.float32)
    shape = (64, 3, 224, 224) if layout == "CHW" else images.shape
    out = aligned_empty(4 * images.size).view(np.float32).reshape(shape)
    target = out.transpose(0, 2, 3, 1) if layout == "CHW" else out

    def numpy():
        for c in range(3):
            target[..., c] = table[c][images[..., c]]

    benchmark(numpy if how == "numpy" else lambda: normalise(images, table, layout=layout, out=out))
    benchmark.extra_info["images/s"] = 64 / benchmark.stats.stats.median
