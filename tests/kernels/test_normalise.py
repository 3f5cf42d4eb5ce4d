"""Bytes to numbers against NumPy's indexing."""

import numpy as np
import pytest

from forebay.kernels.normalise import normalise


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
@pytest.mark.parametrize("shape", [(2, 5, 7, 3), (1, 4, 4, 1), (3, 2, 9, 4), (0, 2, 2, 3)])
def test_equals_indexing(layout, shape):
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, shape, dtype=np.uint8)
    table = rng.normal(size=(shape[3], 256)).astype(np.float32)
    expected = np.stack([table[c][images[..., c]] for c in range(shape[3])], axis=3)
    if layout == "CHW":
        expected = expected.transpose(0, 3, 1, 2)
    got = normalise(images, table, layout=layout)
    assert got.dtype == np.float32
    assert np.array_equal(got, expected)
    assert got.size == 0 or got.ctypes.data % 64 == 0
    out = np.zeros(expected.shape, np.float32)
    assert normalise(images, table, layout=layout, out=out) is out
    assert np.array_equal(out, expected)


def test_what_is_refused():
    images, table = np.zeros((2, 4, 5, 3), np.uint8), np.zeros((3, 256), np.float32)
    with pytest.raises(ValueError, match=r"images must be .*got int8"):
        normalise(images.view(np.int8), table)
    with pytest.raises(ValueError, match=r"table must be float32 \(3, 256\)"):
        normalise(images, table[:1])
    with pytest.raises(ValueError, match="got 'NCHW'"):
        normalise(images, table, layout="NCHW")
    with pytest.raises(ValueError, match=r"out must be C-contiguous float32 \(2, 3, 4, 5\)"):
        normalise(images, table, out=np.zeros((2, 4, 5, 3), np.float32))
