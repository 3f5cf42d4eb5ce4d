"""Where pixels come from: windows, sizes and flips, as torchvision's pages describe them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.decode.transforms import Crop, Flip, Scale

T = fb.transforms
SIZES = st.tuples(st.integers(1, 4000), st.integers(1, 4000))


def windows(crop, size, n=4000, seed=0):
    """(n, 4): top, left, height, width of n windows."""
    generator = np.random.default_rng(seed)
    found = []
    for u in generator.random((n, crop.draws)).tolist():
        steps, out = crop.steps(size, u)
        window, scale = steps
        assert isinstance(window, Crop)
        assert scale == Scale(*crop.size)
        assert out == crop.size
        found.append((window.top, window.left, window.height, window.width))
    return np.array(found)


def kolmogorov(values, low, high):
    """The largest distance of the values' distribution from the even one on [low, high]."""
    x = np.sort((np.asarray(values) - low) / (high - low))
    ranks = np.arange(1, len(x) + 1) / len(x)
    return max(np.abs(ranks - x).max(), np.abs(ranks - 1 / len(x) - x).max())


def test_windows_have_even_area_and_log_even_aspect():
    # Small shares of a large square image always fit, so that no try is thrown away.
    crop = T.RandomResizedCrop(224, scale=(0.08, 0.5))
    found = windows(crop, (4000, 4000))
    area = found[:, 2] * found[:, 3] / 16e6
    aspect = np.log(found[:, 3] / found[:, 2])
    # 1.95 / sqrt(n) is the upper 0.1 % of Kolmogorov's distribution.
    assert kolmogorov(area, 0.08, 0.5) < 1.95 / math.sqrt(len(area))
    assert kolmogorov(aspect, math.log(3 / 4), math.log(4 / 3)) < 1.95 / math.sqrt(len(area))
    assert abs(np.corrcoef(area, aspect)[0, 1]) < 0.06


def test_windows_stand_anywhere_they_fit():
    found = windows(T.RandomResizedCrop(10, scale=(0.1, 0.3)), (1000, 3000))
    top = found[:, 0] / (1000 - found[:, 2] + 1)
    left = found[:, 1] / (3000 - found[:, 3] + 1)
    for place in (top, left):
        assert kolmogorov(place, 0, 1) < 1.95 / math.sqrt(len(place))
    assert abs(np.corrcoef(top, left)[0, 1]) < 0.06


def test_both_edges_are_reached():
    found = windows(T.RandomResizedCrop(4, scale=(0.3, 0.3), ratio=(1, 1)), (10, 10), 400)
    assert set(found[:, 2]) == {5}
    assert set(found[:, 0]) == set(found[:, 1]) == set(range(6))


def test_tries_that_do_not_fit_are_drawn_again():
    # By the documented algorithm, done here with the same draws one try after the other.
    crop, size = T.RandomResizedCrop(9), (50, 400)
    generator = np.random.default_rng(1)
    fallbacks = 0
    for u in generator.random((500, crop.draws)).tolist():
        expected = None
        for i in range(10):
            area = 50 * 400 * (0.08 + 0.92 * u[2 * i])
            aspect = math.exp(math.log(3 / 4) + math.log(16 / 9) * u[2 * i + 1])
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if w <= 400 and h <= 50:
                expected = (h, w)
                break
        (window, _), _ = crop.steps(size, u)
        if expected is None:
            fallbacks += 1
            expected = (50, round(50 * 4 / 3))
            assert (window.top, window.left) == (0, (400 - expected[1]) // 2)
        assert (window.height, window.width) == expected
    assert fallbacks > 20


@pytest.mark.parametrize(
    ("size", "window"),
    [
        ((1000, 10), Crop(493, 0, 13, 10)),
        ((10, 1000), Crop(0, 493, 10, 13)),
        ((100, 110), Crop(0, 0, 100, 110)),
    ],
)
def test_where_nothing_fits_the_middle_is_taken(size, window):
    crop = T.RandomResizedCrop(7, scale=(1.0, 1.0), ratio=(3 / 4, 4 / 3))
    # All tries at the extreme aspect: none fits.
    steps, _ = crop.steps(size, [0.0, 0.0] * 10 + [0.5, 0.5])
    assert steps[0] == window


@settings(max_examples=300, deadline=None)
@given(
    size=SIZES,
    scale=st.tuples(st.floats(0.001, 1), st.floats(0.001, 1)).map(sorted).map(tuple),
    ratio=st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)).map(sorted).map(tuple),
    seed=st.integers(0, 99),
)
def test_windows_lie_inside_the_image(size, scale, ratio, seed):
    crop = T.RandomResizedCrop(8, scale, ratio)
    for top, left, height, width in windows(crop, size, 20, seed).tolist():
        assert 0 <= top <= top + height <= size[0]
        assert 0 <= left <= left + width <= size[1]


@pytest.mark.parametrize("u", [0.0, 1 - 2**-32])
def test_the_ends_of_the_draws_stay_inside(u):
    crop = T.RandomResizedCrop(8)
    for size in [(1, 1), (1, 5000), (640, 480), (3, 2)]:
        (window, _), _ = crop.steps(size, [u] * crop.draws)
        assert window.height >= 1
        assert window.width >= 1
        assert 0 <= window.top <= size[0] - window.height
        assert 0 <= window.left <= size[1] - window.width


@pytest.mark.parametrize(
    ("size", "want", "crop"),
    [
        ((10, 20), 4, Crop(3, 8, 4, 4)),
        ((11, 20), (4, 20), Crop(4, 0, 4, 20)),
        ((4, 4), 4, Crop(0, 0, 4, 4)),
        ((2, 9), 4, Crop(-1, 2, 4, 4)),
        ((3, 3), 4, Crop(0, 0, 4, 4)),
        ((1, 1), (6, 5), Crop(-2, -2, 6, 5)),
    ],
)
def test_center_crop(size, want, crop):
    steps, out = T.CenterCrop(want).steps(size, ())
    assert steps == [crop]
    assert out == (crop.height, crop.width)


@pytest.mark.parametrize(
    ("have", "want", "out"),
    [
        ((480, 640), 240, (240, 320)),
        ((640, 480), 240, (320, 240)),
        ((100, 100), 7, (7, 7)),
        ((375, 500), 256, (256, 341)),
        ((480, 640), (10, 20), (10, 20)),
        ((240, 320), 240, (240, 320)),
    ],
)
def test_resize(have, want, out):
    steps, size = T.Resize(want).steps(have, ())
    assert size == out
    assert steps == ([] if have == out else [Scale(*out)])


def test_flip():
    flip = T.RandomHorizontalFlip(0.25)
    assert flip.steps((3, 4), [0.2499]) == ([Flip()], (3, 4))
    assert flip.steps((3, 4), [0.25]) == ([], (3, 4))
    assert T.RandomHorizontalFlip(0.0).steps((3, 4), [0.0])[0] == []
    assert T.RandomHorizontalFlip(1.0).steps((3, 4), [1 - 2**-32])[0] == [Flip()]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.Resize(0), r"Resize: size must be an int or \(height, width\) above 0, got 0"),
        (lambda: T.Resize(2.5), "Resize: size must be .* got 2.5"),
        (lambda: T.Resize("big"), "Resize: size must be .* got 'big'"),
        (lambda: T.Resize(True), "Resize: size must be .* got True"),
        (lambda: T.CenterCrop((1, 2, 3)), r"CenterCrop: size must be .* got \(1, 2, 3\)"),
        (lambda: T.CenterCrop((4, -1)), r"CenterCrop: size must be .* got \(4, -1\)"),
        (lambda: T.RandomResizedCrop(None), "RandomResizedCrop: size must be .* got None"),
        (lambda: T.RandomResizedCrop(8, scale=0.5), "RandomResizedCrop: scale must be .* got 0.5"),
        (lambda: T.RandomResizedCrop(8, scale=(0, 1)), r"0 < least <= greatest, got \(0, 1\)"),
        (lambda: T.RandomResizedCrop(8, scale=(0.5, 0.1)), r"least <= greatest, got \(0.5, 0.1\)"),
        (lambda: T.RandomResizedCrop(8, ratio=(1, math.inf)), "ratio must be finite numbers"),
        (lambda: T.RandomResizedCrop(8, ratio=(1, 2, 3)), r"\(least, greatest\)"),
        (lambda: T.RandomHorizontalFlip(1.5), r"RandomHorizontalFlip: p must be in \[0, 1\]"),
        (lambda: T.RandomHorizontalFlip("half"), r"p must be in \[0, 1\], got 'half'"),
        (lambda: T.RandomHorizontalFlip(math.nan), r"p must be in \[0, 1\], got nan"),
        (lambda: T.Normalize(0.5, 0.5), "Normalize: mean must be finite numbers .* got 0.5"),
        (lambda: T.Normalize((0.5,), (0.5, 0.5)), "Normalize: mean and std differ in length"),
        (lambda: T.Normalize((), ()), "differ in length"),
        (lambda: T.Normalize((0.5,), (0.0,)), r"Normalize: std must be above 0, got \(0.0,\)"),
        (lambda: T.Normalize((math.nan,), (1.0,)), "Normalize: mean must be finite numbers"),
    ],
)
def test_bad_arguments_are_refused_with_what_to_write(make, message):
    with pytest.raises(ValueError, match=message):
        make()
