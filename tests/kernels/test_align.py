"""Buffers begin where copies are fast."""

import numpy as np
import pytest

from forebay.kernels.align import aligned_empty


@pytest.mark.parametrize("nbytes", [1, 63, 64, 4096, 100_003, 40_000_000])
@pytest.mark.parametrize("alignment", [64, 128, 4096])
def test_address_and_size(nbytes, alignment):
    buffer = aligned_empty(nbytes, alignment)
    address = buffer.ctypes.data
    assert buffer.shape == (nbytes,)
    assert buffer.dtype == np.uint8
    assert buffer.flags.writeable
    assert buffer.flags.c_contiguous
    assert address % alignment == 0
    assert address % 4096 != 16
    buffer[:] = 7
    assert (buffer == 7).all()


@pytest.mark.parametrize("alignment", [0, 1, 16, 32, 96, -64])
def test_alignment_is_checked(alignment):
    with pytest.raises(ValueError, match=f"got {alignment}"):
        aligned_empty(10, alignment)


def test_size_is_checked():
    with pytest.raises(ValueError, match="got -1"):
        aligned_empty(-1)


def test_nothing_is_a_size():
    assert aligned_empty(0).shape == (0,)
