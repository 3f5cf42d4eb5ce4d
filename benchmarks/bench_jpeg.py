"""JPEG on one core: headers, slices, and decoding windows of plain and seekable photos.

Photos are every tenth of `imagenet-sample`, windows those of RandomResizedCrop(0.08 to 1) by a
fixed seed. "us/image" is the median over rounds; compare figures of one run only. Pillow decodes
whole images, as `DataLoader` users have it. Skipped without the photos or libjpeg-turbo's headers.
"""

import io
import os
import random
from pathlib import Path
from typing import Literal

import numpy as np
import PIL.Image
import pytest

from forebay.kernels import _native, jpeg_decode, jpeg_header, jpeg_slice
from forebay.kernels.jpeg_sample import JpegSampler
from forebay.kernels.jpeg_transcode import transcode

DATA = Path(os.environ.get("FOREBAY_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
PHOTOS = DATA / "imagenet-sample"

pytestmark = pytest.mark.skipif(
    not PHOTOS.is_dir() or not hasattr(_native, "JpegDecoder"),
    reason="needs the photos, and libjpeg-turbo's headers at build time",
)


def crop(height, width, rng):
    while True:
        area = height * width * rng.uniform(0.08, 1)
        ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return rng.randint(0, height - h), rng.randint(0, width - w), h, w


@pytest.fixture(scope="module")
def photos():
    """{kind: [bytes]} of the same photos, and the windows."""
    plain = [file.read_bytes() for file in sorted(PHOTOS.iterdir())[::10]]
    kinds = {"plain": plain}
    for interval in (4, 8):
        kinds[f"seekable {interval}"] = [
            transcode(data, max_interval=interval).data or data for data in plain
        ]
    rng = random.Random(0)
    sizes = [PIL.Image.open(io.BytesIO(data)).size for data in plain]
    return kinds, [crop(height, width, rng) for width, height in sizes]


@pytest.fixture(scope="module")
def large():
    """A picture of 12 megapixels out of photos, quality 90: plain and seekable, and its rows."""
    picture = PIL.Image.new("RGB", (4000, 3000))
    files = sorted(PHOTOS.iterdir())
    for i in range(10 * 10):
        tile = PIL.Image.open(files[i]).convert("RGB").resize((400, 300))
        picture.paste(tile, (i % 10 * 400, i // 10 * 300))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=90)
    seekable = transcode(out.getvalue()).data
    assert seekable is not None
    return out.getvalue(), seekable, jpeg_slice.row_starts(seekable)


def note(benchmark, images):
    benchmark.extra_info["us/image"] = 1e6 * benchmark.stats.stats.median / images


def bench_headers(benchmark, photos):
    values = photos[0]["plain"]
    benchmark(jpeg_header.headers, values)
    note(benchmark, len(values))


@pytest.mark.parametrize("kind", ["seekable 4", "seekable 8"])
def bench_slice(benchmark, photos, kind):
    kinds, windows = photos
    pairs = [
        (data, window)
        for data, plain, window in zip(kinds[kind], kinds["plain"], windows, strict=True)
        if data is not plain
    ]

    def run():
        for data, window in pairs:
            jpeg_slice.slice_of(data, window)

    benchmark(run)
    note(benchmark, len(pairs))


@pytest.mark.parametrize("entropy", ["own", "libjpeg"])
@pytest.mark.parametrize("kind", ["plain", "seekable 4", "seekable 8"])
def bench_decode_windows(benchmark, photos, kind, entropy):
    kinds, windows = photos

    def run():
        for data, window in zip(kinds[kind], windows, strict=True):
            jpeg_decode.decode(data, window, entropy=entropy)

    benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    note(benchmark, len(windows))


@pytest.mark.parametrize("decoder", ["own", "libjpeg", "pillow"])
def bench_decode_whole(benchmark, photos, decoder):
    def run():
        for data in photos[0]["plain"]:
            if decoder == "pillow":
                PIL.Image.open(io.BytesIO(data)).convert("RGB")
            else:
                jpeg_decode.decode(data, entropy=decoder)

    benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    note(benchmark, len(photos[1]))


@pytest.mark.parametrize("kind", ["crop and skip", "plain", "seekable", "seekable, rows known"])
def bench_decode_224_of_12_megapixels(benchmark, large, kind):
    plain, seekable, rows = large
    data = seekable if kind.startswith("seekable") else plain
    known = rows if kind == "seekable, rows known" else None
    entropy: Literal["own", "libjpeg"] = "libjpeg" if kind == "crop and skip" else "own"
    rng = random.Random(1)
    windows = [(rng.randrange(2776), rng.randrange(3776), 224, 224) for _ in range(10)]

    def run():
        for window in windows:
            jpeg_decode.decode(data, window, row_starts=known, entropy=entropy)

    benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    note(benchmark, len(windows))


@pytest.mark.parametrize("kind", ["exact", "reduced"])
def bench_12_megapixels_made_224(benchmark, large, kind):
    """All of the picture as one sample."""
    reduced = kind == "reduced"
    sampler = JpegSampler((224, 224), None, "uint8", planar=False, luma=False, reduced=reduced)
    framing = np.array([(0, 0, 3000, 4000, 224, 224, 0, 0, 224, 224, 0, 0, 0)], np.int32)
    out, place = np.empty((1, 224, 224, 3), np.uint8), np.zeros(1, np.int64)
    benchmark.pedantic(
        lambda: sampler.make([large[0]], framing, place, out), rounds=5, warmup_rounds=1
    )
    note(benchmark, 1)
