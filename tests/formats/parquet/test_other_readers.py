"""Hugging Face `datasets` shows our shards as it shows its own."""

from __future__ import annotations

import io

import numpy as np
import pytest

from forebay.formats.parquet.describe import describe
from forebay.formats.record import Field, Schema
from forebay.formats.storage.local import LocalSource


def png(value: int) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (5, 4), (value, 0, 0)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def shard(tmp_path, write_shard):
    fields = Schema.parse(
        {"image": "png", "x": "float32[2,3]", "ids": "uint16[*]?", "t": "text", "b": "bytes?"}
    ).fields
    label = Field("label", "fixed", dtype="int64", classes=("cat", "dög"))
    schema = Schema((*fields, label))
    records = [
        {
            "image": (png(10 * i), f"{i}.png"),
            "x": np.full((2, 3), i, np.float32),
            "ids": None if i == 1 else np.arange(i, dtype=np.uint16),
            "t": "é" * i,
            "b": None if i == 2 else b"b",
            "label": i % 2,
        }
        for i in range(4)
    ]
    write_shard(tmp_path, schema, records[:3], records[3:])
    return tmp_path / "shard.parquet"


def test_datasets_shows_images_and_class_names(shard, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets")
    shown = datasets.load_dataset(
        "parquet", data_files=str(shard), cache_dir=str(tmp_path / "cache"), split="train"
    )
    assert len(shown) == 4
    assert shown.features["label"].names == ["cat", "dög"]
    assert shown.features["label"].int2str(shown[1]["label"]) == "dög"
    image = shown[2]["image"]
    assert image.size == (5, 4)
    assert image.getpixel((0, 0)) == (20, 0, 0)
    assert shown[3]["x"] == [3.0] * 6
    assert [row["ids"] for row in shown] == [[], None, [0, 1], [0, 1, 2]]
    assert shown[2]["t"] == "éé"
    assert shown[2]["b"] is None


def test_datasets_own_files_open_with_their_schema(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])}
    )
    theirs = datasets.Dataset.from_dict(
        {"image": [{"bytes": png(1), "path": None}], "label": [1]}, features=features
    )
    theirs.to_parquet(str(tmp_path / "theirs.parquet"))
    schema, entry = describe(LocalSource(tmp_path), "theirs.parquet")
    assert schema["image"].kind == "image"
    assert schema["label"].classes == ("a", "b")
    assert entry.records == 1
