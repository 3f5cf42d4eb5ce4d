"""The demonstration, as a newcomer runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import PIL.Image
import pytest

ROOT = Path(__file__).parents[1]


def train(*arguments):
    command = [sys.executable, ROOT / "examples" / "train.py", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_digits_are_learnt_from_both_formats():
    rows = json.loads(train("--json"))
    assert [row["format"] for row in rows] == ["parquet", "recordio"]
    for row in rows:
        assert row["accuracy"] >= 0.97, row
        assert row["epochs"] == 15
        assert row["samples/s"] > 0
        assert 0 <= row["stalled"] <= 1
        assert row["bytes read"] > 0


@pytest.mark.long
def test_a_folder_of_ones_own(tmp_path):
    for name, color in (("red", (200, 30, 30)), ("blue", (30, 30, 200))):
        for i in range(20):
            path = tmp_path / "mine" / name / f"{i}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            PIL.Image.new("RGB", (40 + i, 50), color).save(path)
    table = train("--data", tmp_path / "mine", "--epochs", 8, "--size", 16)
    assert "parquet" in table
    assert "recordio" in table
    assert table.count("1.0000") == 2


def test_a_class_of_one_file_is_named(tmp_path):
    for name in ("red/0.jpg", "red/1.jpg", "blue/0.jpg", "blue/.hidden"):
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_bytes(b"")
    command = [sys.executable, ROOT / "examples" / "train.py", "--data", tmp_path / "mine"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "train.py: class 'blue' has 1 files: give it 2 or more\n"
