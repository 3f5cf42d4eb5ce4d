"""Small real inputs, and a way to read a whole source."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from forebay.formats.builder import BlockBuilder
from forebay.formats.column import Block, row_at
from forebay.formats.sources.detect import detect
from forebay.formats.sources.source import Cut, CutRequest, SourceOptions


def encoded(seed: int, kind: str = "jpeg") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (12, 16, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


@pytest.fixture
def image_bytes() -> Callable[..., bytes]:
    """encoded(seed, kind): a small image file's bytes."""
    return encoded


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Three classes of JPEG files; one class has a folder inside, one is empty."""
    root = tmp_path / "tree"
    for i, name in enumerate(["b/0.jpg", "b/1.JPEG", "a/0.jpg", "a/deep/er/0.jpg", "c/x y.jpg"]):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(i))
    (root / "empty").mkdir()
    (root / ".hidden").mkdir()
    (root / ".hidden" / "no.txt").write_text("no")
    (root / "a" / ".DS_Store").write_text("no")
    return root


@pytest.fixture
def cut_of(tmp_path: Path) -> Callable[..., Cut]:
    """cut_of(path, seed=None, shard_bytes=..., **SourceOptions): the cut of what is there."""

    def cut(path: Path, seed: int | None = None, shard_bytes: int = 1 << 20, **options: Any) -> Cut:
        stage = tmp_path / f"stage-{len(list(tmp_path.glob('stage-*')))}"
        stage.mkdir()
        source = detect(path, SourceOptions(**options))
        return source.cut(CutRequest(shard_bytes, seed, stage))

    return cut


@pytest.fixture
def rows_of() -> Callable[[Cut], list[dict[str, Any]]]:
    """Every record of a cut as it would be stored, in order; images without their paths."""

    def rows(cut: Cut) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        names = cut.schema.names
        for job in cut.jobs:
            builder = BlockBuilder(cut.schema)
            blocks: list[Block | None] = []
            for item in job.read():
                if isinstance(item, Block):
                    blocks += builder.add_columns(item)
                else:
                    blocks.append(builder.add(item))
            blocks.append(builder.flush())
            before = len(found)
            for block in blocks:
                for i in range(block.rows if block else 0):
                    found.append(dict(zip(names, row_at(cut.schema, block, i), strict=True)))
            assert len(found) - before == job.records
        return found

    return rows
