"""How large samples are said to be."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from forebay.dataloader.batch.samples import MOST_NODES, OBJECT_BYTES, sample_bytes


@pytest.mark.parametrize(
    ("sample", "content", "nodes"),
    [
        (5, 0, 1),
        (torch.zeros(10, dtype=torch.float64), 80, 1),
        (np.zeros((2, 3), np.int16), 12, 1),
        ("abc", 3, 1),
        (b"abcd", 4, 1),
        ({"a": np.zeros(4, np.uint8), "b": ["xy", (1, None)]}, 6, 7),
        (torch.zeros(1000)[:10], 40, 1),
        (object(), 0, 1),
    ],
)
def test_content_and_containers_count(sample, content, nodes):
    assert sample_bytes(sample) == content + nodes * OBJECT_BYTES


def test_the_walk_is_bounded():
    assert sample_bytes(list(range(10**6))) == MOST_NODES * OBJECT_BYTES
    endless = []
    endless.append(endless)
    assert sample_bytes(endless) == MOST_NODES * OBJECT_BYTES
