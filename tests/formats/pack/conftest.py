"""A tree of small images, and ways to compare datasets."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from forebay.formats.pack.options import PackOptions

SMALL = PackOptions(shard_bytes=6000, block_bytes=1500)


def make_tree(root: Path, images: int = 60, first: int = 0) -> Path:
    for i in range(first, first + images):
        pixels = np.random.default_rng(i).integers(0, 256, (10, 10, 3), np.uint8)
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "JPEG")
        path = root / f"class{i % 3}" / f"{i:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(out.getvalue())
    return root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """60 images in 3 classes, about 13 shards with SMALL."""
    return make_tree(tmp_path / "tree")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.fixture
def same() -> Callable[[Path, Path], bool]:
    """same(a, b): whether two folders hold the same files with the same bytes."""
    return lambda a, b: contents(a) == contents(b)


@pytest.fixture
def make() -> Callable[..., Path]:
    """make(root, images, first): a tree of 3 classes of images, those that follow `first`."""
    return make_tree
