"""The byte budget: every byte that the loader holds is charged here before it is allocated."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Literal

Account = Literal["fetch", "blocks", "decode", "slots", "pool", "indexes"]


class Budget:
    """Counts bytes by account against one limit. Safe to use from several threads.

    fetch: bytes at rest being read; blocks: decompressed blocks; decode: pixels of images that are
    being decoded; slots: batches being built or
    waiting for the consumer; pool: memory of finished batches kept for the next; indexes: what
    readers keep of footers and indexes, charged once at its bound.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # Reentrant: the collector may close another run of the same loader while we are inside.
        self._lock = threading.RLock()
        self._held: Counter[str] = Counter()
        self._total = 0
        self._peak = 0
        self._overdrawn = 0

    def try_charge(self, account: Account, nbytes: int) -> bool:
        """Charges the bytes if they fit."""
        with self._lock:
            if self._total + nbytes > self.limit:
                return False
            self._add(account, nbytes)
            return True

    def charge(self, account: Account, nbytes: int) -> None:
        """Charges the bytes whether or not they fit: for the head of the line, which must move."""
        with self._lock:
            self._add(account, nbytes)
            self._overdrawn = max(self._overdrawn, self._total - self.limit)

    def release(self, account: Account, nbytes: int) -> None:
        """Gives bytes back.

        Raises:
            ValueError: more than the account holds, which is an error of the caller.
        """
        with self._lock:
            if nbytes > self._held[account]:
                raise ValueError(
                    f"account {account} holds {self._held[account]} bytes, not {nbytes}"
                )
            self._held[account] -= nbytes
            self._total -= nbytes

    def move(self, source: Account, target: Account, nbytes: int) -> None:
        """Charges bytes of one account to another; the sum stays."""
        with self._lock:
            self._held[source] -= nbytes
            self._held[target] += nbytes

    def _add(self, account: Account, nbytes: int) -> None:
        self._held[account] += nbytes
        self._total += nbytes
        self._peak = max(self._peak, self._total)

    @property
    def held(self) -> int:
        """Bytes charged now."""
        return self._total

    @property
    def peak(self) -> int:
        """The most bytes ever charged at once."""
        return self._peak

    @property
    def overdrawn(self) -> int:
        """The most bytes ever charged beyond the limit."""
        return self._overdrawn

    def by_account(self) -> dict[str, int]:
        """Bytes charged now, by account."""
        with self._lock:
            return dict(self._held)
