"""Memory of blocks, used again: a new mapping costs several times the read that fills it."""

from __future__ import annotations

import mmap
import weakref
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels.align import aligned_empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 32
"""Buffers kept at most: about what the end of a window drops at once."""

_SMALLEST = 1 << 16
_LIMIT = 16 << 20


def rounded(nbytes: int, *, brief: bool = False) -> int:
    """Bytes that a buffer of `nbytes` takes: large ones in steps of a sixteenth or less.

    Blocks of one dataset differ by a few percent, and each should fit where another was.

    Args:
        brief: of a buffer that is gone soon: steps of a half or less, since what is read for a part
            of a batch differs by much, and what it wastes is little beside what it saves.
    """
    if nbytes < _SMALLEST:
        return nbytes
    step = slack(nbytes, brief=brief)
    return -(-nbytes // step) * step


def slack(nbytes: int, *, brief: bool = False) -> int:
    """The most bytes by which a buffer of at most `nbytes` is larger than what it holds."""
    return max(mmap.PAGESIZE, 1 << max(0, nbytes.bit_length() - (2 if brief else 5)))


class BlockMemory:
    """Hands out buffers, and takes them back when the last view of one is gone.

    The system gives zeroed pages, a fault for each: 0.6 ms a MiB on the machine of
    docs/benchmarks.md, where reading a MiB takes 0.1 ms. At most `limit` bytes of buffers that
    nobody uses are kept. Safe to call from several threads and after fork; picklable, without what
    it keeps.
    """

    def __init__(self, limit: int = _LIMIT) -> None:
        self._limit = limit
        # A deque bounded by itself needs no lock: views also die inside the garbage collector,
        # which may run anywhere, and a fork may leave a lock held.
        self._kept: deque[mmap.mmap] = deque(maxlen=KEPT)
        self._lent: dict[int, weakref.ref[NDArray[np.uint8]]] = {}

    def __reduce__(self) -> tuple[type[BlockMemory], tuple[int]]:
        return BlockMemory, (self._limit,)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers that are kept and that nobody uses."""
        return sum(len(m) for m in list(self._kept))

    def bound(self, limit: int) -> None:
        """Keeps at most so many bytes from now on."""
        self._limit = limit
        self._trim()

    def take(self, nbytes: int, *, brief: bool = False) -> NDArray[np.uint8]:
        """(nbytes,) uint8 of unspecified content, aligned to 64 bytes, the caller's.

        It takes `rounded(nbytes, brief=brief)` of memory, until the last view of it is gone.

        Raises:
            MemoryError: there is not so much memory.
        """
        size = rounded(nbytes, brief=brief)
        if size < _SMALLEST:
            return aligned_empty(nbytes)
        return self._lend(self._fitting(size) or _mapped(size))[:nbytes]

    def _trim(self) -> None:
        while self.nbytes > self._limit:
            try:
                self._kept.popleft()
            except IndexError:  # another thread was faster
                return

    def _fitting(self, size: int) -> mmap.mmap | None:
        for _ in range(len(self._kept)):
            try:
                memory = self._kept.popleft()
            except IndexError:  # another thread was faster
                return None
            if len(memory) == size:
                return memory
            self._kept.append(memory)
        return None

    def _lend(self, memory: mmap.mmap) -> NDArray[np.uint8]:
        whole = np.frombuffer(memory, np.uint8)
        key = id(whole)

        def back(_: weakref.ref[NDArray[np.uint8]]) -> None:
            self._lent.pop(key, None)
            if len(memory) <= self._limit:
                self._kept.append(memory)
                self._trim()

        # Views of `whole` name it as their base, so it lives as long as the last of them.
        self._lent[key] = weakref.ref(whole, back)
        return whole


def _mapped(size: int) -> mmap.mmap:
    # Populated at once: a page fault for each 4 KiB costs more than the copy that causes it.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    try:
        return mmap.mmap(-1, size, flags=flags)
    except OSError as e:
        raise MemoryError(f"cannot map {size} bytes: {e.strerror}") from e
