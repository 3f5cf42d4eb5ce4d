"""Philox4x32-10 (Salmon et al., SC 2011): random words as a pure function of key and counter.

A key of this library is 128 bits, two uint64, made by `derive_key`. Its first half is Philox's own
key; its second half is the upper half of Philox's counter, so the lower half, 64 bits, is free to
count draws. Every order and every random number of an epoch comes from here: nothing has state.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numba import types

from forebay.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["derive_key", "draws", "keyed_block"]

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)


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


# Words are carried in uint64, whose product of two 32-bit values is exact; numba has no
# widening multiplication of uint32.
@compiled()
def _block(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """One block of Philox4x32-10: 32-bit words, each in a uint64."""
    for _ in range(10):
        p0 = _MULTIPLIER_0 * c0
        p1 = _MULTIPLIER_1 * c2
        c0 = (p1 >> _HALF) ^ c1 ^ k0
        c1 = p1 & _MASK
        c2 = (p0 >> _HALF) ^ c3 ^ k1
        c3 = p0 & _MASK
        k0 = (k0 + _WEYL_0) & _MASK
        k1 = (k1 + _WEYL_1) & _MASK
    return c0, c1, c2, c3


@compiled()
def keyed_block(
    key_0: np.uint64, key_1: np.uint64, counter: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Block number `counter` of the stream of a 128-bit key, for other kernels."""
    return _block(
        counter & _MASK,
        counter >> _HALF,
        key_1 & _MASK,
        key_1 >> _HALF,
        key_0 & _MASK,
        key_0 >> _HALF,
    )


@compiled(
    types.void(
        types.uint64,
        types.uint64,
        types.Array(types.uint64, 1, "C", readonly=True),
        types.uint32[:, ::1],
    ),
)
def _fill(
    key_0: np.uint64,
    key_1: np.uint64,
    counters: NDArray[np.uint64],
    out: NDArray[np.uint32],
) -> None:
    for i in range(counters.size):
        words = keyed_block(key_0, key_1, counters[i])
        for j in range(4):
            out[i, j] = np.uint32(words[j])


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
    _fill(np.uint64(key[0]), np.uint64(key[1]), counters, out)
    return out
