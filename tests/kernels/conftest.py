"""Ragged blocks of random sizes, and their rows in plain NumPy: what kernels are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from forebay.kernels.blocks import RaggedBlocks


@dataclass
class Drawn:
    """n random rows of random blocks: their names, and what they hold."""

    blocks: RaggedBlocks
    which: Any
    rows: Any
    expected: list[Any]


def draw(seed, dtype, n, blocks=4, most=40):
    """Rows overlap, are empty and lie in no order; several may be drawn twice."""
    rng = np.random.default_rng(seed)
    triples = []
    for _ in range(blocks):
        values = rng.integers(0, 256, 50 * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
        lengths = rng.integers(0, most + 1, int(rng.integers(1, 12)))
        triples.append((values, rng.integers(0, 51 - lengths), lengths))
    which = rng.integers(0, blocks, n)
    rows = np.array([rng.integers(0, len(triples[b][1])) for b in which], np.int64)
    expected = []
    for b, r in zip(which, rows, strict=True):
        values, starts, lengths = triples[b]
        expected.append(values[starts[r] : starts[r] + lengths[r]])
    return Drawn(RaggedBlocks.of(triples), which, rows, expected)


@pytest.fixture(scope="session")
def draw_rows():
    return draw
