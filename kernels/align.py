"""Memory whose address suits wide copies, and that goes back to the system when it is freed."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["aligned_empty"]

MAPPED = 128 * 1024
"""Buffers of at least so many bytes are mappings of their own."""


def aligned_empty(nbytes: int, alignment: int = 64) -> NDArray[np.uint8]:
    """A buffer of unspecified content whose first byte lies on a multiple of `alignment`.

    NumPy's own large arrays begin at page + 16, where reads are several times slower on some
    processors; a multiple of 64 never does. Large buffers are mapped, not taken from the heap: the
    heap keeps what is freed between longer-lived neighbours, up to several times what is in use.

    Args:
        nbytes: Size in bytes; up to `alignment` more are reserved.
        alignment: A power of two in bytes, at least 64.

    Returns:
        (nbytes,) uint8, writable, the caller's; the memory is freed with the last view of it.

    Raises:
        ValueError: `nbytes` is negative or `alignment` is not such a power of two.
        MemoryError: there is not so much memory.
    """
    if nbytes < 0:
        raise ValueError(f"nbytes must be >= 0, got {nbytes}")
    if alignment < 64 or alignment & (alignment - 1):
        raise ValueError(f"alignment must be a power of two >= 64, got {alignment}")
    if nbytes >= MAPPED and alignment <= mmap.PAGESIZE:
        return _mapped(nbytes)
    whole = np.empty(nbytes + alignment, np.uint8)
    skip = -whole.ctypes.data % alignment
    return whole[skip : skip + nbytes]


def _mapped(nbytes: int) -> NDArray[np.uint8]:
    # Populated at once: a page fault for each 4 KiB costs more than the copy that causes it.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    try:
        memory = mmap.mmap(-1, nbytes, flags=flags)
    except OSError as e:
        raise MemoryError(f"cannot map {nbytes} bytes: {e.strerror}") from e
    return np.frombuffer(memory, np.uint8)
