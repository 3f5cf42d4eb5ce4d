"""The floors do the task: NumPy, numba and single rows agree; windows lie inside their image."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.benchmarks.peers import gather, pixels
from forebay.benchmarks.peers.corpus import arrays


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    out = tmp_path_factory.mktemp("rows") / "columns"
    arrays.write(out, np.random.default_rng(0).integers(1, 40, 300), 1_000)
    return arrays.Rows(out)


@settings(deadline=None)  # the first call compiles
@given(index=st.lists(st.integers(0, 299), min_size=1, max_size=50))
def test_gathers_agree(rows, index):
    index = np.array(index)
    ids, lengths = gather.pad([rows[i] for i in index])
    for kernel in (gather.with_numpy, gather.with_numba):
        found, counted = kernel(rows, index)
        np.testing.assert_array_equal(found, ids)
        np.testing.assert_array_equal(counted, lengths)


def test_resident_rows_are_the_same(tmp_path):
    arrays.write(tmp_path / "c", np.array([3, 1, 2]), 50)
    mapped, held = arrays.Rows(tmp_path / "c"), gather.resident(tmp_path / "c")
    np.testing.assert_array_equal(mapped.values, held.values)
    assert held.values.ctypes.data % 4096 == 0


def test_batches_are_whole_and_take_each_index_once():
    taken = np.concatenate(list(gather.batches(1_000, 64, epoch=1)))
    assert len(taken) == 15 * 64
    assert len(np.unique(taken)) == len(taken)
    assert not np.array_equal(taken, np.concatenate(list(gather.batches(1_000, 64, epoch=2))))


@given(st.integers(1, 2_000), st.integers(1, 2_000))
def test_windows_lie_inside(height, width):
    top, left, h, w = pixels.window(height, width)
    assert 0 <= top <= top + h <= height
    assert 0 <= left <= left + w <= width
    assert h > 0
    assert w > 0


def test_normalised_image_is_the_formula():
    image = np.random.default_rng(0).integers(0, 256, (224, 224, 3), np.uint8)
    wanted = ((image / 255.0 - pixels.MEAN) / pixels.STD).transpose(2, 0, 1)
    found = pixels.finished(image, "float32")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_array_equal(pixels.finished(image[:, ::-1], "uint8"), image[:, ::-1])
