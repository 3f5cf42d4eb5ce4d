"""The byte budget: every byte that the loader holds is charged here before it is allocated."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from contextlib import AbstractContextManager
from typing import Literal

Account = Literal["fetch", "blocks", "decode", "slots", "pool", "kept", "indexes"]


class Budget:
    """Counts bytes by account against one limit. Safe to use from several threads.

    fetch: bytes at rest being read; blocks: decompressed blocks; decode: pixels of images that are
    being decoded; slots: batches being built or waiting for the consumer; pool: memory of finished
    batches kept for the next; kept: blocks that one run leaves for the next; indexes: what readers
    keep of footers and indexes, charged once at its bound.

    Each run charges to a lease of its own. What a lease holds counts until it is closed or gone,
    so a run that an interrupt tore in the middle of its bookkeeping leaves no charge behind.
    """

    def __init__(self, limit: int, _whole: Budget | None = None) -> None:
        self.limit = limit
        self._whole = self if _whole is None else _whole
        # Reentrant: the collector may close another run of the same loader while we are inside.
        self._lock: AbstractContextManager[bool]
        self._lock = threading.RLock() if _whole is None else _whole._lock
        self._held: Counter[str] = Counter()
        self._closed = False
        self._leases: list[weakref.ref[Budget]] = []
        self._peak = 0
        self._overdrawn = 0

    def lease(self) -> Budget:
        """A part that charges against the same limit, and ends by `close` or when it is dropped."""
        part = Budget(self.limit, self)
        with self._lock:
            self._leases = [r for r in self._leases if r() is not None] + [weakref.ref(part)]
        return part

    def close(self) -> None:
        """Gives everything back; what is charged or released later counts nothing."""
        with self._lock:
            self._closed = True
            self._held = Counter()

    def try_charge(self, account: Account, nbytes: int) -> bool:
        """Charges the bytes if they fit."""
        with self._lock:
            if self._whole.held + nbytes > self.limit:
                return False
            self._add(account, nbytes)
            return True

    def charge(self, account: Account, nbytes: int) -> None:
        """Charges the bytes whether or not they fit: for the head of the line, which must move."""
        with self._lock:
            self._add(account, nbytes)

    def release(self, account: Account, nbytes: int) -> None:
        """Gives bytes back.

        Raises:
            ValueError: more than the account holds, which is an error of the caller.
        """
        with self._lock:
            if self._closed:
                return
            if nbytes > self._held[account]:
                raise ValueError(
                    f"account {account} holds {self._held[account]} bytes, not {nbytes}"
                )
            self._held[account] -= nbytes

    def hold(self, account: Account, nbytes: int) -> None:
        """Says how much the account holds in all, whether or not it fits."""
        with self._lock:
            self._add(account, nbytes - self._held[account])

    def try_hold(self, account: Account, nbytes: int) -> bool:
        """Says how much the account holds in all, if it fits."""
        with self._lock:
            if self._whole.held + nbytes - self._held[account] > self.limit:
                return False
            self._add(account, nbytes - self._held[account])
            return True

    def move(self, source: Account, target: Account, nbytes: int) -> None:
        """Charges bytes of one account to another; the sum stays."""
        with self._lock:
            if not self._closed:
                self._held[source] -= nbytes
                self._held[target] += nbytes

    def _add(self, account: Account, nbytes: int) -> None:
        if self._closed:
            return
        self._held[account] += nbytes
        whole = self._whole
        total = whole.held
        whole._peak = max(whole._peak, total)
        whole._overdrawn = max(whole._overdrawn, total - self.limit)

    @property
    def held(self) -> int:
        """Bytes charged now, those of leases included."""
        return sum(sum(part._held.values()) for part in self._parts())

    @property
    def peak(self) -> int:
        """The most bytes ever charged at once."""
        return self._peak

    @property
    def overdrawn(self) -> int:
        """The most bytes ever charged beyond the limit."""
        return self._overdrawn

    def by_account(self) -> dict[str, int]:
        """Bytes charged now, by account, those of leases included."""
        with self._lock:
            held: Counter[str] = Counter()
            for part in self._parts():
                held.update(part._held)
            return dict(held)

    def _parts(self) -> list[Budget]:
        return [self, *(part for ref in self._leases if (part := ref()) is not None)]
