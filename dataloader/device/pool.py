"""Memory for slots: page-aligned, given out again when the consumer's tensors are gone.

A fresh 38 MB buffer a batch costs a fifth of an image pipeline in page faults, so finished memory
is kept, within the budget, for the next batch.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.budget import Budget


class SlotPool:
    """Hands out memory; takes it back when nothing refers to it any more.

    Memory in use belongs to the slot (and is charged there), then to the consumer; idle memory is
    charged to the pool.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._idle: list[mmap.mmap] = []
        # Finalisers run at any moment, inside our own lock too: they only append here.
        self._returned: deque[mmap.mmap] = deque()
        self._closed = False

    def take(self, nbytes: int) -> NDArray[np.uint8]:
        """(nbytes,) uint8, page-aligned, not cleared. Views of it keep it alive."""
        size = max(mmap.PAGESIZE, -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)
        with self._lock:
            self._collect()
            memory = next((m for m in self._idle if len(m) == size), None)
            if memory is not None:
                self._idle.remove(memory)
                self._budget.release("pool", size)
        if memory is None:
            memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        owner = (ctypes.c_ubyte * size).from_buffer(memory)
        weakref.finalize(owner, self._return, memory).atexit = False
        view: NDArray[np.uint8] = np.frombuffer(memoryview(owner), np.uint8, nbytes)
        return view

    def trim(self, nbytes: int) -> int:
        """Frees idle memory until about `nbytes` are free; returns how many were."""
        freed = 0
        with self._lock:
            self._collect()
            while self._idle and freed < nbytes:
                size = len(self._idle.pop())
                self._budget.release("pool", size)
                freed += size
        return freed

    def close(self) -> None:
        """Frees all idle memory; what comes back later is freed at once."""
        self._closed = True
        self.trim(1 << 62)

    def _return(self, memory: mmap.mmap) -> None:
        if not self._closed:
            self._returned.append(memory)

    def _collect(self) -> None:
        while self._returned:
            memory = self._returned.popleft()
            if self._budget.try_charge("pool", len(memory)):
                self._idle.append(memory)


def typed(memory: NDArray[np.uint8], shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """The memory as an array of this shape and dtype, which keeps it alive."""
    return memory.view(dtype).reshape(shape)
