"""What was loaded last, kept within a bound of bytes."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Sized(Protocol):
    """Anything that says how many bytes of memory it keeps alive."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        ...


V = TypeVar("V", bound=Sized)


@dataclass(slots=True)
class _Kept(Generic[V]):
    """What one process keeps; replaced as a whole, so that no thread sees half of a change."""

    process: int = field(default_factory=os.getpid)
    lock: threading.Lock = field(default_factory=threading.Lock)
    values: OrderedDict[Hashable, V] = field(default_factory=OrderedDict)
    nbytes: int = 0


class Lru(Generic[V]):
    """The least recently used values go first.

    Safe to call from several threads: two that miss the same key at once both load it. A forked
    child begins empty, so that a lock held by a thread that it does not have cannot stop it.
    Picklable, without what it keeps.

    Args:
        limit: bytes.
        keep_newest: keeps the value last loaded even where it is above the limit by itself.
    """

    def __init__(self, limit: int, keep_newest: bool = False) -> None:
        self._limit = limit
        self._keep_newest = keep_newest
        self._kept: _Kept[V] = _Kept()

    def __reduce__(self) -> tuple[type[Lru[V]], tuple[int, bool]]:
        return Lru, (self._limit, self._keep_newest)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the kept values hold."""
        return self._kept.nbytes

    def get(self, key: Hashable, load: Callable[[], V]) -> V:
        """The value of a key, kept or loaded; raises what `load` raises."""
        kept = self._mine()
        with kept.lock:
            found = kept.values.get(key)
            if found is not None:
                kept.values.move_to_end(key)
                return found
        loaded = load()
        with kept.lock:
            if key not in kept.values and (self._keep_newest or loaded.nbytes <= self._limit):
                kept.values[key] = loaded
                kept.nbytes += loaded.nbytes
            self._trim(kept)
        return loaded

    def bound(self, limit: int) -> None:
        """Changes the limit, and lets go of what is above it."""
        kept = self._mine()
        with kept.lock:
            self._limit = limit
            self._trim(kept)

    def _mine(self) -> _Kept[V]:
        kept = self._kept
        if kept.process != os.getpid():
            kept = self._kept = _Kept()
        return kept

    def _trim(self, kept: _Kept[V]) -> None:
        least = 1 if self._keep_newest else 0
        while kept.nbytes > self._limit and len(kept.values) > least:
            kept.nbytes -= kept.values.popitem(last=False)[1].nbytes
