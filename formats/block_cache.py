"""A few decoded blocks, kept for random access to neighbouring rows."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from forebay.formats.column import Block

LIMIT_BYTES = 64_000_000


class BlockCache:
    """The least recently used blocks go first; a block above the limit is not kept.

    Safe to call from several threads: two that miss the same block at once both load it. A forked
    child begins with an empty cache, so that a lock held by a thread that it does not have cannot
    stop it.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._reset()

    def __reduce__(self) -> tuple[type[BlockCache], tuple[int]]:
        return BlockCache, (self._limit,)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the kept blocks hold."""
        return self._nbytes

    def get(self, block: int, load: Callable[[], Block]) -> Block:
        """Block number `block`, from the cache or by `load`."""
        if self._process != os.getpid():
            self._reset()
        with self._lock:
            kept = self._blocks.get(block)
            if kept is not None:
                self._blocks.move_to_end(block)
                return kept
        loaded = load()
        with self._lock:
            if block not in self._blocks and loaded.nbytes <= self._limit:
                self._blocks[block] = loaded
                self._nbytes += loaded.nbytes
            while self._nbytes > self._limit:
                self._nbytes -= self._blocks.popitem(last=False)[1].nbytes
        return loaded

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._blocks: OrderedDict[int, Block] = OrderedDict()
        self._nbytes = 0
