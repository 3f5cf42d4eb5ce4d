"""What to make of an image: checked where it is written."""

from __future__ import annotations

import numpy as np
import pytest

import forebay as fb
from forebay.dataloader.decode.transforms import Crop, Flip, Scale

T, Image = fb.transforms, fb.Image
NORMALIZE = T.Normalize(*T.IMAGENET)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Image(T.Resize), TypeError, "is not a transform of forebay.transforms"),
        (lambda: Image("resize"), TypeError, "'resize' is not a transform"),
        (lambda: Image(lambda x: x), TypeError, "is not a transform"),
        (lambda: Image(), ValueError, r"depends on the image.*add Resize\(\(height, width\)\)"),
        (lambda: Image(T.Resize(8)), ValueError, "depends on the image"),
        (lambda: Image(T.RandomHorizontalFlip()), ValueError, "depends on the image"),
        (lambda: Image(NORMALIZE, T.Resize((8, 8))), ValueError, "Normalize must come last"),
        (lambda: Image(T.CenterCrop(8), NORMALIZE, NORMALIZE), ValueError, "Normalize must come"),
        (lambda: Image(T.CenterCrop(8), color="BGR"), ValueError, "'RGB' or 'L', got 'BGR'"),
        (
            lambda: Image(T.CenterCrop(8), layout="NCHW"),
            ValueError,
            "'channels_last'.*, got 'NCHW'",
        ),
        (lambda: Image(T.CenterCrop(8), dtype="int8"), ValueError, "'bfloat16'.*, got 'int8'"),
        (lambda: Image(T.CenterCrop(8), NORMALIZE, dtype="uint8"), ValueError, "uint8 cannot hold"),
        (
            lambda: Image(T.CenterCrop(8), NORMALIZE, color="L"),
            ValueError,
            "Normalize has 3 channels, color L has 1",
        ),
    ],
)
def test_bad_descriptions_are_refused_with_what_to_write(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize(
    ("image", "shape", "dtype"),
    [
        (Image(T.CenterCrop((4, 6))), (3, 4, 6), "uint8"),
        (Image(T.CenterCrop((4, 6)), layout="HWC"), (4, 6, 3), "uint8"),
        (Image(T.CenterCrop((4, 6)), color="L"), (1, 4, 6), "uint8"),
        (Image(T.Resize((4, 6)), NORMALIZE), (3, 4, 6), "float32"),
        (Image(T.RandomResizedCrop(5), dtype="float32"), (3, 5, 5), "float32"),
        (Image(T.Resize((9, 8)), T.CenterCrop(2)), (3, 2, 2), "uint8"),
        # An int resizes what has one size already to one size again.
        (Image(T.CenterCrop((10, 20)), T.Resize(5)), (3, 5, 10), "uint8"),
    ],
)
def test_shape_and_dtype_of_a_sample(image, shape, dtype):
    assert (image.shape, image.dtype) == (shape, dtype)


def test_steps_take_the_draws_in_order():
    image = Image(T.Resize((8, 8)), T.RandomHorizontalFlip(), T.RandomHorizontalFlip())
    assert image.draws == 2
    assert image.steps((8, 8), [0.4, 0.6]) == [Flip()]
    assert image.steps((4, 8), [0.6, 0.4]) == [Scale(8, 8), Flip()]
    both = Image(T.Resize(16), T.CenterCrop(8))
    assert both.steps((32, 64), ()) == [Scale(16, 32), Crop(4, 12, 8, 8)]


def test_table_is_each_byte_s_value():
    assert Image(T.CenterCrop(2)).table() is None
    plain = Image(T.CenterCrop(2), dtype="float32").table()
    assert plain.dtype == np.float32
    assert plain.shape == (3, 256)
    assert (plain == np.arange(256, dtype=np.float32) / 255).all()
    table = Image(T.CenterCrop(2), NORMALIZE).table()
    mean, std = map(np.array, T.IMAGENET)
    for c in range(3):
        assert table[c].tolist() == pytest.approx(
            ((np.arange(256) / 255 - mean[c]) / std[c]).tolist(), rel=1e-6, abs=1e-6
        )


def test_repr_says_how_to_make_it():
    text = repr(Image(T.Resize(8), T.CenterCrop(4), NORMALIZE, layout="HWC"))
    assert text.startswith("Image(Resize(8), CenterCrop((4, 4)), Normalize((0.485,")
    assert text.endswith("color='RGB', dtype='float32', layout='HWC')")
