"""The loader end to end on small data: rows of numbers, ragged rows, and pictures.

One round is an epoch, its start and its end included. Threads of None are all processors.
"""

import io
from typing import Any

import numpy as np
import PIL.Image
import pytest

import forebay as fb

T = fb.transforms


def numbers(n):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((n, 20), np.float32)
    return ({"x": x[i], "label": i} for i in range(n)), {"x": "float32[20]", "label": "int64"}


def ragged(n):
    generator = np.random.default_rng(0)
    lengths = generator.integers(16, 129, n)
    rows = (generator.integers(0, 50_257, k).astype(np.int32) for k in lengths)
    return ({"ids": row} for row in rows), {"ids": "int32[*]"}


def pictures(n):
    generator = np.random.default_rng(0)

    def jpeg():
        buffer = io.BytesIO()
        # Noise of 16 pixels enlarged: the entropy of a photo rather than of noise.
        pixels = generator.integers(0, 256, (24, 32, 3), np.uint8)
        image = PIL.Image.fromarray(pixels).resize((512, 384), PIL.Image.Resampling.BICUBIC)
        image.save(buffer, "JPEG", quality=90)
        return buffer.getvalue()

    return ({"image": jpeg()} for _ in range(n)), {"image": "jpeg"}


IMAGE = fb.Image(T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize(*T.IMAGENET))
TASKS = {
    "numbers": (numbers, 20_000, 256, {}),
    "ragged": (ragged, 20_000, 256, {}),
    "pictures": (pictures, 256, 32, {"image": IMAGE}),
}


@pytest.fixture(scope="module", params=["recordio", "parquet"])
def form(request):
    return request.param


@pytest.fixture(scope="module", params=TASKS)
def task(request, form, tmp_path_factory):
    make, samples, batch, decode = TASKS[request.param]
    records, fields = make(samples)
    path = tmp_path_factory.mktemp(request.param) / "d"
    fb.write_dataset(path, records, fields, format=form)
    return fb.open_dataset(path), samples, batch, decode


@pytest.mark.parametrize("threads", [0, None])
def bench_epoch(benchmark, task, threads):
    dataset, samples, batch, decode = task
    loader = fb.DataLoader(
        dataset, batch, "window", num_workers=threads, seed=0, decode=decode or None
    )
    seen = benchmark.pedantic(
        lambda: sum(1 for _ in loader), rounds=5, warmup_rounds=1, iterations=1
    )
    assert seen == len(loader)
    benchmark.extra_info["k samples/s"] = samples / benchmark.stats.stats.median / 1e3


def bench_first_batch(benchmark, task):
    """Construction to the first batch; the iterator closes outside of the time."""
    dataset, _, batch, decode = task
    held: list[Any] = []

    def first():
        held.append(iter(fb.DataLoader(dataset, batch, "window", seed=0, decode=decode or None)))
        return next(held[-1])

    def close():
        while held:
            held.pop().close()

    benchmark.pedantic(first, setup=close, rounds=10, warmup_rounds=1)
    close()
