"""Checked column chunks in memory, in the form of the file that the decoder believes to read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class ChunkFile:
    """A read-only file of which only some ranges are there; reads are views, never copies.

    Args:
        size: bytes of the whole file.
        ranges: (offset, (n,) uint8) of what is there, apart from one another.
    """

    closed = False

    def __init__(self, size: int, ranges: Sequence[tuple[int, NDArray[np.uint8]]]) -> None:
        self._size = size
        self._ranges = [(offset, data.data) for offset, data in ranges]
        self._at = 0

    def read(self, n: int = -1) -> memoryview:
        """Up to `n` bytes from the present place on.

        Raises:
            OSError: they are not there.
        """
        stop = self._size if n < 0 else min(self._size, self._at + n)
        view = self.view(self._at, stop)
        self._at += len(view)
        return view

    def view(self, start: int, stop: int) -> memoryview:
        """The bytes of a range.

        Raises:
            OSError: they are not there.
        """
        if stop <= start:
            return memoryview(b"")
        for offset, data in self._ranges:
            if offset <= start and stop <= offset + len(data):
                return data[start - offset : stop - offset]
        raise OSError(f"bytes {start} to {stop} lie outside the column chunks that were checked")

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves the present place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        """The present place."""
        return self._at

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def writable(self) -> bool:
        """False."""
        return False

    def close(self) -> None:
        """Does nothing: the ranges belong to their owner."""
