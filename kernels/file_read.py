"""Ranges of a file read in one call, so that threads do not wait for the GIL within it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from forebay.kernels import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

__all__ = ["ReadSoFar", "read_file"]


class ReadSoFar(NamedTuple):
    """How far reading came.

    Args:
        opened: whether the file could be opened; otherwise `error` says why.
        ranges: that are whole.
        nbytes: of the range behind them.
        error: the system's number (errno) where it failed; 0 where all is there, or the file ends.
    """

    opened: bool
    ranges: int
    nbytes: int
    error: int


def read_file(
    path: str | os.PathLike[str], offsets: Sequence[int], outs: Sequence[Buffer]
) -> ReadSoFar:
    """Opens a file, fills each of `outs` with its bytes from its offset on, and closes it.

    All of it without the GIL, and a signal's handler runs when it is done: no descriptor outlives
    the call.

    Args:
        offsets: in bytes, one for each of `outs`.
        outs: writable contiguous buffers, the caller's.

    Raises:
        ValueError: the counts differ, an offset is below 0, or the path has a zero byte.
        TypeError, BufferError: one of `outs` is no writable contiguous buffer.
    """
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"read_file: the path {path!r} has a zero byte")
    return ReadSoFar(*_native.read_file(name, list(offsets), list(outs)))
