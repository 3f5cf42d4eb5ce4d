"""How large samples become in user code's hands: learned, since nothing tells it beforehand."""

from __future__ import annotations

import threading


class Learned:
    """Bytes that user code makes of one sample: as many as were met, at first a guess.

    Safe in several threads. It bounds what is admitted, and changes no batch.
    """

    def __init__(self, guess: int) -> None:
        self._lock = threading.Lock()
        self._guess: int | None = guess
        self._most = 0

    @property
    def bytes_a_sample(self) -> int:
        """The largest mean that was met."""
        return self._most if self._guess is None else self._guess

    def met(self, nbytes: int, samples: int) -> None:
        """So many samples took so many bytes."""
        if samples:
            with self._lock:
                self._guess = None
                self._most = max(self._most, -(-nbytes // samples))
