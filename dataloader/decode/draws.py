"""Random numbers of samples: a pure function of (seed, epoch, field, position)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forebay.kernels.crc import crc32c
from forebay.kernels.philox import derive_key, draws

# The purpose that keys of sample draws are derived for; a number for ever, see plan.order.
PURPOSE_SAMPLES = 4
BLOCKS_A_SAMPLE = 1 << 16


def field_key(seed: int, epoch: int, field: str) -> tuple[int, int]:
    """The key of one field's draws in one epoch."""
    return derive_key(seed, epoch, PURPOSE_SAMPLES, crc32c(field.encode()))


def uniforms(key: tuple[int, int], positions: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """(n, count) float64 in [0, 1): the draws of samples at these positions.

    Each is made of 32 random bits. A position owns 2^16 counters, so positions below 2^48 never
    share one.
    """
    blocks = -(-count // 4)
    counters = positions.astype(np.uint64)[:, None] * np.uint64(BLOCKS_A_SAMPLE)
    counters = counters + np.arange(blocks, dtype=np.uint64)[None, :]
    words = draws(key, counters.ravel()).reshape(len(positions), 4 * blocks)
    return np.asarray(words[:, :count] * 2.0**-32, np.float64)
