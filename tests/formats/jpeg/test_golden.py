"""Seekable JPEG of every version stays what it was: found to be seekable, with its pixels."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from forebay.kernels.jpeg_transcode import available, transcode

FOLDER = Path(__file__).parents[2] / "golden" / "jpeg"
PIXELS = json.loads((FOLDER / "pixels.json").read_text())

needs_jpeg = pytest.mark.skipif(not available(), reason="built without libjpeg-turbo's headers")


def _decode(data):
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def test_every_file_is_listed():
    assert {p.name for p in FOLDER.glob("*.jpg")} == PIXELS.keys()


@pytest.mark.parametrize("name", PIXELS)
def test_pixels(name):
    image = _decode((FOLDER / name).read_bytes())
    digest = hashlib.sha256(image.tobytes()).hexdigest()
    assert [image.mode, *image.size, digest] == PIXELS[name]


@needs_jpeg
@pytest.mark.parametrize("name", PIXELS)
def test_is_seekable(name):
    from forebay.kernels.jpeg_slice import row_starts, slice_of

    data = (FOLDER / name).read_bytes()
    starts = row_starts(data)
    assert [data[s - 2] for s in starts[1:]] == [0xFF] * (len(starts) - 1)
    whole = np.asarray(_decode(data))
    height, width = whole.shape[:2]
    window = (height // 2, width // 3, height - height // 2, width - width // 3)
    part, (top, left) = slice_of(data, window)
    pixels = np.asarray(_decode(part))[top : top + window[2], left : left + window[3]]
    assert (pixels == whole[window[0] :, window[1] :]).all()


@needs_jpeg
@pytest.mark.parametrize("name", PIXELS)
def test_is_transcoded_to_what_it_is(name):
    data = (FOLDER / name).read_bytes()
    again = transcode(data).data
    assert again is not None
    assert _decode(again).tobytes() == _decode(data).tobytes()
    # Of another libjpeg the Huffman tables may differ, and the scan with them.
    assert again[: again.index(b"\xff\xc4")] == data[: data.index(b"\xff\xc4")]
