"""Philox4x32-10 (Salmon et al., SC 2011): random words as a pure function of key and counter.

A key of this library is 128 bits, two uint64, made by `derive_key`. Its first half is Philox's own
key; its second half is the upper half of Philox's counter, so the lower half, 64 bits, is free to
count draws. Every order and every random number of an epoch comes from here: nothing has state.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["derive_key", "draws"]


def derive_key(*words: int) -> tuple[int, int]:
    """The 128-bit key that stands for a tuple of integers, such as (seed, epoch, purpose, lane).

    Different tuples, of different lengths too, give unrelated keys. The function is part of the
    cursor's format and never changes: BLAKE2b with a 16-byte digest and the personalisation
    b"forebay-key-1" over the words as little-endian uint64, read as two little-endian uint64.

    Raises:
        ValueError: A word is not in [0, 2**64).
    """
    for word in words:
        if not 0 <= word < 1 << 64:
            raise ValueError(f"a key's words must be in [0, 2**64), got {word} in {words}")
    packed = b"".join(int(word).to_bytes(8, "little") for word in words)
    digest = hashlib.blake2b(packed, digest_size=16, person=b"forebay-key-1").digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def draws(
    key: tuple[int, int], counters: NDArray[np.uint64] | NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Four random words for each counter, without the GIL.

    Args:
        key: From `derive_key`.
        counters: (N,) which draws of the key's stream to give, in any order. A negative one
            counts as itself plus 2**64.

    Returns:
        A new (N, 4) uint32 array, the caller's; each row depends on the key and its counter alone.

    Raises:
        ValueError: `counters` is not 1-D.
        TypeError: `counters` does not hold integers.
    """
    if counters.ndim != 1:
        raise ValueError(f"draws: counters must be 1-D, got shape {counters.shape}")
    if counters.dtype.kind not in "ui":
        raise TypeError(f"draws: counters must be integers, got {counters.dtype}")
    counters = np.ascontiguousarray(counters, np.uint64)
    out = np.empty((counters.size, 4), np.uint32)
    _native.draws(*key, counters, out.reshape(-1))
    return out
