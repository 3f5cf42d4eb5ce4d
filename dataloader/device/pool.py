"""Memory for slots: page-aligned, given out again when the consumer's tensors are gone.

A fresh 38 MB buffer a batch costs a fifth of an image pipeline in page faults, so finished memory
is kept, within the budget, for the next batch, of a later epoch too. What is fresh comes in huge
pages where the system gives them: a quarter of the time, and fewer address misses afterwards.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.budget import Budget

_HUGE = 2 << 20


class SlotPool:
    """Hands out memory; takes it back when nothing refers to it any more.

    Memory in use belongs to the slot (and is charged there), then to the consumer; idle memory is
    charged to the pool. That charge is stated anew with each change, so what an interrupt tears is
    right again with the next.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._idle: list[mmap.mmap] = []
        # Finalisers run at any moment, inside our own lock too: they only append here.
        self._returned: deque[mmap.mmap] = deque()

    def take(self, nbytes: int) -> NDArray[np.uint8]:
        """(nbytes,) uint8, page-aligned, not cleared. Views of it keep it alive."""
        size = max(mmap.PAGESIZE, -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)
        with self._lock:
            self._collect()
            memory = next((m for m in self._idle if len(m) == size), None)
            if memory is not None:
                self._idle.remove(memory)
                self._budget.hold("pool", self._nbytes)
        if memory is None:
            memory = _mapped(size)
        owner = (ctypes.c_ubyte * size).from_buffer(memory)
        weakref.finalize(owner, _give_back, weakref.ref(self), memory).atexit = False
        view: NDArray[np.uint8] = np.frombuffer(memoryview(owner), np.uint8, nbytes)
        return view

    def trim(self, nbytes: int) -> int:
        """Frees idle memory until about `nbytes` are free; returns how many were."""
        freed = 0
        with self._lock:
            self._collect()
            while self._idle and freed < nbytes:
                freed += len(self._idle.pop())
                self._budget.hold("pool", self._nbytes)
        return freed

    def _collect(self) -> None:
        while self._returned:
            memory = self._returned.popleft()
            if self._budget.try_hold("pool", self._nbytes + len(memory)):
                self._idle.append(memory)

    @property
    def _nbytes(self) -> int:
        return sum(map(len, self._idle))


def _give_back(pool: weakref.ref[SlotPool], memory: mmap.mmap) -> None:
    # Once the pool is gone, with its loader, memory is freed as it comes back.
    if (alive := pool()) is not None:
        alive._returned.append(memory)


def _mapped(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size >= _HUGE:
        # Refused where the system has no huge pages; ordinary ones do as well.
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def typed(memory: NDArray[np.uint8], shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """The memory as an array of this shape and dtype, which keeps it alive."""
    return memory.view(dtype).reshape(shape)
