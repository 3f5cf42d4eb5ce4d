"""Parquet column chunks of PLAIN pages decoded straight to their places, without the GIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["PlainChunk", "decode_plain"]


class PlainChunk(NamedTuple):
    """One column chunk and where its values go; sizes in bytes unless said.

    Args:
        start: of the chunk in the buffer that holds it.
        length: of the chunk, page headers included.
        values: that its pages must add up to, nulls included.
        uncompressed: that its pages and their headers must not exceed.
        width: of a value as stored, 1 to 16; 0 for byte arrays.
        levels: the highest definition level, 0 to 3; a value is null below it.
        zstd: 1 where page bodies are zstd frames, 0 where they are as they are.
        text: 1 where byte arrays must be UTF-8.
        out: where its values begin in `out`.
        room: bytes of `out` from there on that it may take.
        spans: of byte arrays, where their starts and then their lengths begin in `spans`.
        valid: where its validity begins in `valid`; -1 where it may have no null.
    """

    start: int
    length: int
    values: int
    uncompressed: int
    width: int
    levels: int
    zstd: int
    text: int
    out: int
    room: int
    spans: int = 0
    valid: int = -1


def decode_plain(
    data: NDArray[np.uint8],
    chunks: Sequence[PlainChunk],
    out: NDArray[np.uint8],
    spans: NDArray[np.int64],
    valid: NDArray[np.uint8],
) -> int:
    """Decodes column chunks of v1 data pages, PLAIN, without dictionary or lists.

    Fixed values lie end to end from `out` on, zeros where they are null. Byte arrays lie as in the
    pages, each behind its length; their starts count from the first byte of `out`, and a null has
    length 0.

    Args:
        data: (n,) uint8, contiguous: the chunks.
        out: (m,) uint8, contiguous, the caller's, apart from `data`; so are the next two.
        spans: (k,) int64: `values` starts and then `values` lengths for each chunk of byte arrays.
        valid: (v,) uint8, 1 where a value is there.

    Returns:
        How many chunks were decoded: all, or those before the first that is of another form, is
        damaged or does not fit its places. What that one wrote is unspecified, in its own places.

    Raises:
        TypeError: an array is not of its dtype, or not contiguous.
    """
    table = np.array(chunks, np.int64).reshape(len(chunks), len(PlainChunk._fields))
    return _native.decode_plain(data, table, out, spans, valid)
