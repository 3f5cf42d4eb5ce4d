"""Steps of transforms as one resampling: the numbers make the very pixels that the steps make."""

from __future__ import annotations

import numpy as np
import PIL.Image
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.decode.framing import framing_of
from forebay.dataloader.decode.image import pillow
from forebay.dataloader.decode.image.pillow import apply
from forebay.dataloader.decode.transforms import Crop, Flip, Scale

CROPS = st.builds(
    Crop, st.integers(-9, 20), st.integers(-9, 20), st.integers(1, 30), st.integers(1, 30)
)
SCALES = st.builds(Scale, st.integers(1, 30), st.integers(1, 30))
STEPS = st.lists(st.one_of(CROPS, SCALES, st.just(Flip())), max_size=5)


def framed(image, numbers, size):
    """What the numbers say, by Pillow's means and slicing."""
    top, left, height, width, tall, wide, y, x, h, w, down, right, mirrored = numbers
    box = image.crop((left, top, left + width, top + height))
    if (tall, wide) != (height, width):
        box = box.resize((wide, tall), PIL.Image.Resampling.BILINEAR)
    shown = np.asarray(box)[y : y + h, x : x + w]
    out = np.zeros(size, np.uint8)
    out[down : down + h, right : right + w] = shown[:, ::-1] if mirrored else shown
    return out


@settings(max_examples=300, deadline=None)
@given(height=st.integers(1, 25), width=st.integers(1, 25), steps=STEPS)
def test_a_framing_is_its_steps(height, width, steps):
    pixels = np.random.default_rng(height * 31 + width).integers(1, 256, (height, width), np.uint8)
    image = PIL.Image.fromarray(pixels)
    framing = framing_of((height, width), steps)
    if framing is None:
        assert any(isinstance(s, Scale) for s in steps)
        return
    expected = np.asarray(apply(image, steps))
    got = framed(image, framing.numbers(), expected.shape)
    # Pillow filters one side at a time, so mirroring before and after may round apart.
    assert np.abs(got.astype(int) - expected).max(initial=0) <= 1
    part = np.asarray(pillow.framed(image, framing))
    assert part.shape == expected.shape
    assert np.abs(part.astype(int) - expected).max(initial=0) <= 1


def test_what_is_no_single_resampling_is_left_to_others():
    assert framing_of((10, 10), [Scale(5, 5), Scale(3, 3)]) is None
    assert framing_of((10, 10), [Crop(-1, 0, 5, 5), Scale(3, 3)]) is None
    assert framing_of((10, 10), [Scale(5, 5), Crop(-3, 1, 9, 9), Flip()]) is not None
