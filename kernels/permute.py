"""Keyed permutations of [0, n): an epoch's order, computed where it is asked for, never stored.

Up to `EXACT` the permutation is a Fisher-Yates shuffle with unbiased draws: over keys, every order
is equally likely. Above, a table would cost memory in proportion to n, so position x is split as
(x // b, x % b) with a * b just above n, and eight rounds add a keyed hash of one half to the other,
each in its own modulus (a generalised Feistel network: a bijection on a * b whatever the hash is).
Results that fall outside [0, n) are sent through again, which keeps the map a bijection on [0, n);
with a and b near the root of n fewer than one in 256 are.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EXACT", "LARGEST", "permutation", "permute"]

EXACT = 1 << 16
"""The largest n that is shuffled exactly."""
LARGEST = 1 << 62
"""The largest n of `permute`: its halves must fit 32 bits."""


def permutation(n: int, key: tuple[int, int]) -> NDArray[np.int64]:
    """All of the keyed permutation of [0, n): element i is where position i goes.

    Args:
        n: At most `EXACT`.
        key: From `derive_key`.

    Returns:
        A new (n,) int64 array, the caller's.

    Raises:
        ValueError: `n` is negative, or above `EXACT`: ask `permute` for the positions needed.
    """
    if not 0 <= n <= EXACT:
        raise ValueError(f"permutation: n must be in [0, {EXACT}], got {n}; use permute above")
    return _table(n, key).astype(np.int64)


def permute(n: int, key: tuple[int, int], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the keyed permutation of [0, n) sends each of some positions, without the GIL.

    The same for every n and key however the positions are divided over calls; for n up to `EXACT`
    it is `permutation(n, key)[index]`, of which the last 64 tables are kept (8 MiB at the most).

    Args:
        n: At most `LARGEST`.
        key: From `derive_key`.
        index: (K,) positions, each in [0, n), in any order; repeats are allowed.

    Returns:
        A new (K,) int64 array, the caller's.

    Raises:
        ValueError: `n` is not in [0, `LARGEST`], or `index` is not 1-D.
        IndexError: A position is not in [0, n); names the first such.
        TypeError: `index` holds no integers, or such as int64 does not.
    """
    if not 0 <= n <= LARGEST:
        raise ValueError(f"permute: n must be in [0, 2**62], got {n}")
    index = _as_positions(index)
    out = np.empty(index.size, np.int64)
    if n <= EXACT:
        bad = _native.look_up(_table(n, key), index, out)
    else:
        left = math.isqrt(n - 1) + 1
        bad = _native.permute(n, left, -(-n // left), *key, index, out)
    if bad >= 0:
        raise IndexError(f"permute: position {index[bad]} (number {bad}) is not in [0, {n})")
    return out


def _as_positions(index: NDArray[np.int64]) -> NDArray[np.int64]:
    if index.ndim != 1:
        raise ValueError(f"permute: index must be 1-D, got shape {index.shape}")
    if not np.can_cast(index.dtype, np.int64, "safe"):
        raise TypeError(f"permute: index must be int64 or narrower integers, got {index.dtype}")
    return np.ascontiguousarray(index, np.int64)


@lru_cache(maxsize=64)
def _table(n: int, key: tuple[int, int]) -> NDArray[np.uint16]:
    table = np.empty(n, np.uint16)
    _native.shuffled_table(*key, table)
    table.flags.writeable = False
    return table
