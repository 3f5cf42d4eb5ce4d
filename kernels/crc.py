"""CRC-32C (Castagnoli): the check that every stored byte of a dataset is covered by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from typing_extensions import Buffer

__all__ = ["crc32c", "crc32c_backend", "crc32c_portable", "crc32c_ranges"]


def crc32c(buffer: Buffer, value: int = 0) -> int:
    """CRC-32C of a buffer's bytes; the GIL is released while it runs.

    Args:
        buffer: Any C-contiguous buffer (bytes, memoryview, ndarray, pyarrow.Buffer, ...); its
            bytes are read as they lie, whatever their shape and dtype, and not kept.
        value: The CRC of the bytes before these, 0 to begin: `crc32c(b, crc32c(a))` is the CRC
            of `a + b`.

    Raises:
        ValueError: `value` is not in [0, 2**32).
        BufferError, ValueError: `buffer` is not C-contiguous; which of the two is its exporter's.
        TypeError: `buffer` is not a buffer.
    """
    return _native.crc32c(buffer, _checked(value))


def crc32c_portable(buffer: Buffer, value: int = 0) -> int:
    """As `crc32c`, but by tables alone, whatever the processor has: to test the two against
    each other."""
    return _native.crc32c_portable(buffer, _checked(value))


def crc32c_ranges(
    buffer: Buffer,
    starts: NDArray[np.int64] | Sequence[int],
    lengths: NDArray[np.int64] | Sequence[int],
) -> NDArray[np.uint32]:
    """CRC-32C of each of K byte ranges of one buffer, in one call without the GIL.

    Args:
        buffer: As for `crc32c`.
        starts: (K,) offsets of the ranges' first bytes.
        lengths: (K,) sizes of the ranges in bytes; 0 gives CRC 0. Ranges may overlap.

    Returns:
        A new (K,) uint32 array, the caller's.

    Raises:
        IndexError: A range does not lie inside the buffer; the message names the first such.
        ValueError: `starts` and `lengths` are not 1-D of one size.
        TypeError: `starts` or `lengths` are not integers of at most 64 bits with sign.
    """
    first = _as_offsets("starts", starts)
    size = _as_offsets("lengths", lengths)
    out = np.empty(len(first), np.uint32)
    _native.crc32c_ranges(buffer, first, size, out)
    return out


def crc32c_backend() -> str:
    """What `crc32c` runs on in this process: "sse4.2", "armv8" or "portable"."""
    return _native.crc32c_backend()


def _checked(value: int) -> int:
    if not 0 <= value < 1 << 32:
        raise ValueError(f"value must be a CRC in [0, 2**32), got {value}")
    return value


def _as_offsets(name: str, offsets: NDArray[np.int64] | Sequence[int]) -> NDArray[np.int64]:
    array = np.asarray(offsets)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, got shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.int64)
    if not np.can_cast(array.dtype, np.int64, "safe"):
        raise TypeError(f"{name} must be int64 or narrower integers, got {array.dtype}")
    return np.ascontiguousarray(array, np.int64)
