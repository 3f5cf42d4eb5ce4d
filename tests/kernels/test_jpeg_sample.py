"""What making samples takes: the memory that is charged for it is what the kernel allows itself."""

from __future__ import annotations

import io

import numpy as np
import PIL.Image
import pytest

from forebay.kernels import _native
from forebay.kernels.jpeg_sample import JpegSampler, available

pytestmark = pytest.mark.skipif(not available(), reason="built without libjpeg-turbo's headers")

SIDE = 32


def encoded(width, height, **options):
    noise = np.random.default_rng(width).integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    out = io.BytesIO()
    PIL.Image.fromarray(noise).resize((width, height)).save(out, "JPEG", **options)
    return out.getvalue()


def framing(top, left, height, width):
    """A box resampled to the whole sample."""
    box = (top, left, height, width)
    return np.array([(*box, SIDE, SIDE, 0, 0, SIDE, SIDE, 0, 0, 0)], np.int32)


def sampler():
    return JpegSampler((SIDE, SIDE), None, "uint8", planar=False, luma=False)


@pytest.mark.parametrize("box", [(0, 0, 480, 640), (3, 5, 470, 9), (479, 639, 1, 1)])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("orientation", [1, 6])
def test_what_it_says_is_enough(box, progressive, orientation):
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    size = (640, 480) if orientation == 1 else (480, 640)
    data = encoded(*size, progressive=progressive, exif=exif)
    what = framing(*box)
    working = sampler().working([data], what)
    values = _native.ByteValues("uint8", None)
    out, places = np.zeros((1, SIDE * SIDE * 3), np.uint8), np.zeros(1, np.int64)
    enough = _native.JpegSamples(values, SIDE, SIDE, False, False, limit=working)
    assert enough.make([data], what, places, out) == []
    assert out.any()
    little = _native.JpegSamples(values, SIDE, SIDE, False, False, limit=working // 4)
    assert [kind for _, kind, _ in little.make([data], what, places, out)] == [5]


def test_a_crop_of_a_large_image_takes_the_crops_memory():
    data = encoded(4000, 3000)
    crop = sampler().working([data], framing(1000, 1000, 224, 224))
    whole = sampler().working([data], framing(0, 0, 3000, 4000))
    assert crop < 3_000_000
    assert 3 * 12_000_000 < whole < 6 * 12_000_000
    scans = encoded(4000, 3000, progressive=True)
    assert sampler().working([scans], framing(1000, 1000, 224, 224)) > 2 * 1.5 * 12_000_000


def test_it_is_that_of_the_image_that_takes_most():
    data = [encoded(320, 240), encoded(640, 480), b"no JPEG"]
    whole = np.concatenate([framing(0, 0, 240, 320), framing(0, 0, 480, 640), framing(0, 0, 9, 9)])
    assert sampler().working(data, whole) == sampler().working(data[1:2], whole[1:2])
    outside = framing(0, 0, 10_000, 10)
    assert sampler().working([data[0]], outside) == 0
    assert sampler().working([b"", b"no JPEG"], whole[:2]) == 0


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="one size, got 2 and 1"):
        sampler().working([b"", b""], framing(0, 0, 1, 1))
