"""Memory that running work needs for a while, and cannot wait for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from forebay.dataloader.flow.budget import Account, Budget

DECAY = 16
"""Each use gives back at most the 16th part of what is kept unused."""


class Scratch:
    """Charges what running tasks use at once, and keeps it for a while.

    Admission then leaves room for as much as was used lately: only a larger need can overdraw the
    budget. What one rare large need took is given back bit by bit. Safe in several threads.
    """

    def __init__(self, budget: Budget, account: Account) -> None:
        self._budget = budget
        self._account: Account = account
        # Reentrant: the collector may close a run of this thread while we are inside.
        self._lock = threading.RLock()
        self._used = 0
        self._kept = 0

    @contextmanager
    def lent(self, nbytes: int) -> Iterator[None]:
        """Bytes to use inside the `with` block; always granted."""
        with self._lock:
            self._used += nbytes
            more = max(0, self._used - self._kept)
            self._kept += more
            self._budget.charge(self._account, more)
        try:
            yield
        finally:
            with self._lock:
                self._used -= nbytes
                less = min(self._kept - self._used, self._kept // DECAY)
                self._kept -= less
                self._budget.release(self._account, less)

    def close(self) -> None:
        """Gives everything back; nothing may be lent any more."""
        with self._lock:
            self._budget.release(self._account, self._kept)
            self._kept = 0
