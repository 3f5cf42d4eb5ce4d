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
from numba import types

from forebay.kernels.compiled import compiled
from forebay.kernels.philox import keyed_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EXACT", "LARGEST", "permutation", "permute"]

EXACT = 1 << 16
"""The largest n that is shuffled exactly."""
LARGEST = 1 << 62
"""The largest n of `permute`: its halves must fit 32 bits."""

# Kernels that Python calls have their types written out: they are compiled, or read from the
# cache, when the module is imported, and not within somebody's first batch.
_U64 = types.uint64
_READ_I64 = types.Array(types.int64, 1, "C", readonly=True)

_ROUNDS = 8
_TILE = 256
_HALF = np.uint64(32)
_MASK = np.uint64(0xFFFFFFFF)
_TWO_32 = np.uint64(1 << 32)
_MIX_0 = np.uint64(0xBF58476D1CE4E5B9)  # the finaliser of SplitMix64, Stafford's variant 13
_MIX_1 = np.uint64(0x94D049BB133111EB)
_SHIFT_0 = np.uint64(30)
_SHIFT_1 = np.uint64(27)


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
        bad = _look_up(_table(n, key), index, out)
    else:
        left = math.isqrt(n - 1) + 1
        right = -(-n // left)
        bad = _network(
            np.int64(n),
            np.uint64(left),
            np.uint64(right),
            np.uint64(key[0]),
            np.uint64(key[1]),
            index,
            out,
        )
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
    table = np.arange(n, dtype=np.uint16)
    _shuffle(np.uint64(key[0]), np.uint64(key[1]), table)
    table.flags.writeable = False
    return table


# From the last place down, each place swaps with one at or below it. A draw in [0, size) is the
# upper half of word * size; words whose lower half falls under 2**32 mod size are drawn again
# (Lemire 2019), or the first 2**32 mod size values would come up once more often than the rest.
@compiled(types.void(_U64, _U64, types.uint16[::1]))
def _shuffle(key_0: np.uint64, key_1: np.uint64, table: NDArray[np.uint16]) -> None:
    words = keyed_block(key_0, key_1, np.uint64(0))
    used = 0
    counter = np.uint64(1)
    for last in range(table.size - 1, 0, -1):
        size = np.uint64(last + 1)
        threshold = _TWO_32 % size
        while True:
            if used == 4:
                words = keyed_block(key_0, key_1, counter)
                counter += np.uint64(1)
                used = 0
            product = words[used] * size
            used += 1
            if product & _MASK >= threshold:
                break
        other = np.int64(product >> _HALF)
        table[last], table[other] = table[other], table[last]


@compiled(
    types.int64(types.Array(types.uint16, 1, "C", readonly=True), _READ_I64, types.int64[::1]),
)
def _look_up(table: NDArray[np.uint16], index: NDArray[np.int64], out: NDArray[np.int64]) -> int:
    for i in range(index.size):
        at = index[i]
        if at < 0 or at >= table.size:
            return i
        out[i] = table[at]
    return -1


@compiled()
def _hash(half: np.uint64, round_key: np.uint64, modulus: np.uint64) -> np.uint64:
    mixed = half ^ round_key
    mixed = (mixed ^ (mixed >> _SHIFT_0)) * _MIX_0
    mixed = (mixed ^ (mixed >> _SHIFT_1)) * _MIX_1
    return ((mixed >> _HALF) * modulus) >> _HALF


@compiled()
def _round_keys(key_0: np.uint64, key_1: np.uint64) -> NDArray[np.uint64]:
    keys = np.empty(_ROUNDS, np.uint64)
    for pair in range(_ROUNDS // 2):
        words = keyed_block(key_0, key_1, np.uint64(pair))
        keys[2 * pair] = words[0] | (words[1] << _HALF)
        keys[2 * pair + 1] = words[2] | (words[3] << _HALF)
    return keys


@compiled()
def _add_hash(
    into: NDArray[np.uint64], other: NDArray[np.uint64], round_key: np.uint64, modulus: np.uint64
) -> None:
    for i in range(into.size):
        total = into[i] + _hash(other[i], round_key, modulus)
        into[i] = min(total, total - modulus)  # below the modulus the difference wraps to above it


# A round is one loop over a tile of positions that stays in the first cache, so that the compiler
# makes it of vector instructions: three times as fast as one position at a time (bench_permute).
@compiled()
def _through(
    keys: NDArray[np.uint64],
    left_size: np.uint64,
    right_size: np.uint64,
    tile: NDArray[np.int64],
    left: NDArray[np.uint64],
    right: NDArray[np.uint64],
) -> None:
    for i in range(tile.size):
        left[i] = np.uint64(tile[i]) // right_size
        right[i] = np.uint64(tile[i]) - left[i] * right_size
    for r in range(0, _ROUNDS, 2):
        _add_hash(left, right, keys[r], left_size)
        _add_hash(right, left, keys[r + 1], right_size)
    for i in range(tile.size):
        tile[i] = np.int64(left[i] * right_size + right[i])


@compiled(
    types.int64(types.int64, _U64, _U64, _U64, _U64, _READ_I64, types.int64[::1]),
)
def _network(
    n: np.int64,
    left_size: np.uint64,
    right_size: np.uint64,
    key_0: np.uint64,
    key_1: np.uint64,
    index: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    keys = _round_keys(key_0, key_1)
    left = np.empty(_TILE, np.uint64)
    right = np.empty(_TILE, np.uint64)
    for i in range(index.size):
        if index[i] < 0 or index[i] >= n:
            return i
        out[i] = index[i]
    for start in range(0, index.size, _TILE):
        tile = out[start : start + _TILE]
        _through(keys, left_size, right_size, tile, left[: tile.size], right[: tile.size])
        for i in range(tile.size):
            while tile[i] >= n:
                _through(keys, left_size, right_size, tile[i : i + 1], left[:1], right[:1])
    return -1
