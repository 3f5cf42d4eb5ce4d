"""zstd frames decompressed straight into their places, by the system's libzstd where it has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native
from forebay.kernels._native import ZstdDictionary

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ZstdDictionary", "decompress_frames", "zstd_version"]


def zstd_version() -> int:
    """Of the system's libzstd as 10504 for 1.5.4; 0: there is none, use the zstandard package."""
    return _native.zstd_version()


def decompress_frames(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_starts: NDArray[np.int64],
    out_lengths: NDArray[np.int64],
    dictionary: ZstdDictionary | None = None,
) -> NDArray[np.uint8] | None:
    """Decompresses frame i of `data` into `out_lengths[i]` bytes of `out`, all in one call.

    The GIL is released, no frame is copied, and each thread keeps one decompressor (about 150 kB).
    A frame of no bytes is left out where its place has none.

    Args:
        data: (n,) uint8, contiguous.
        starts: (K,) int64, in bytes, as are the other three.
        out: (m,) uint8, contiguous, the caller's; must not overlap `data`.

    Returns:
        None where every frame is good; else (K,) uint8, 1 where it is not one whole frame of
        exactly its size, and what its place then holds is unspecified.

    Raises:
        IndexError: a frame or its place lies outside its buffer; nothing is written.
        ValueError: the sizes differ.
        RuntimeError: there is no libzstd.
    """
    bad = np.empty(len(starts), np.uint8)
    wrong = _native.zstd_decompress(
        data, starts, lengths, out, out_starts, out_lengths, bad, dictionary
    )
    return bad if wrong else None
