"""Ranges of an open file read in one call, so that threads do not wait for the GIL between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from forebay.kernels import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

__all__ = ["ReadSoFar", "read_ranges"]


class ReadSoFar(NamedTuple):
    """How far reading came.

    Args:
        ranges: that are whole.
        nbytes: of the range behind them.
        error: the system's number (errno) where it failed; 0 where all is there, or the file ends.
    """

    ranges: int
    nbytes: int
    error: int


def read_ranges(descriptor: int, offsets: Sequence[int], outs: Sequence[Buffer]) -> ReadSoFar:
    """Fills each of `outs` with the bytes of a file from its offset on, without the GIL.

    A signal's handler runs when all is read.

    Args:
        descriptor: of a file open for reading; its position stays.
        offsets: in bytes, one for each of `outs`.
        outs: writable contiguous buffers, the caller's.

    Raises:
        ValueError: the counts differ, or an offset is below 0.
        TypeError, BufferError: one of `outs` is no writable contiguous buffer.
    """
    return ReadSoFar(*_native.read_ranges(descriptor, list(offsets), list(outs)))
