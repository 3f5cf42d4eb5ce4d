"""Transcoding to seekable JPEG, the proof included: what `pack` spends on a photo."""

import io

import numpy as np
import pytest
from PIL import Image

from forebay.kernels.jpeg_transcode import available, transcode

pytestmark = pytest.mark.skipif(not available(), reason="built without libjpeg-turbo's headers")


def _photo(progressive):
    """500 x 375 pixels of waves and noise, about as many bytes as a photo has."""
    y, x = np.mgrid[:375, :500]
    waves = 128 + 60 * np.sin(x / 40) + 50 * np.cos(y / 25 + x / 60)
    noise = np.random.default_rng(0).normal(0, 12, (375, 500, 3))
    pixels = (waves[..., None] + noise).clip(0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=90, progressive=progressive)
    return out.getvalue()


@pytest.mark.parametrize("progressive", [False, True])
def bench_transcode(benchmark, progressive):
    data = _photo(progressive)
    benchmark.extra_info["bytes"] = len(data)
    done = benchmark(transcode, data)
    assert done.data is not None
