"""The real command in a process of its own, and small datasets to run it on."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from forebay.formats.writer import write_dataset

COMMAND = [sys.executable, "-m", "forebay.tools"]
FIELDS = {"image": "jpeg", "label": "int64", "text": "text?", "x": "float32[3]", "ids": "uint16[*]"}


@dataclass(frozen=True)
class Ran:
    """What a run of the command left."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    def refused(self, *words):
        """Whether it was refused as every refusal must be: code 2, one line, no report."""
        assert self.code == 2, self
        assert self.out == ""
        assert self.err.startswith("forebay ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err, (word, self.err)
        return True


@pytest.fixture(scope="session")
def forebay():
    """forebay(*arguments): what a run of the command gave."""

    def run(*arguments, **options):
        ran = subprocess.run(
            [*COMMAND, *map(str, arguments)], capture_output=True, timeout=120, **options
        )
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    return run


def picture(seed, size=(20, 30)):
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG")
    return out.getvalue()


def record(i):
    return {
        "image": picture(i),
        "label": i % 3,
        "text": None if i % 4 == 3 else f"Größe {i} <b>\x1b[2J\n",
        "x": np.array([i, np.nan, -i], np.float32),
        "ids": np.arange(i, dtype=np.uint16),
    }


def write(path: Path, format: str, start=0, stop=20, **options):
    """A dataset of several shards and blocks."""
    if not options.get("append"):
        options = {"format": format, "codec": "none", **options}
    options = {"shard_bytes": 8000, "block_bytes": 3000, **options}
    write_dataset(path, [record(i) for i in range(start, stop)], FIELDS, **options)
    return path


@pytest.fixture(params=["parquet", "recordio"])
def dataset(request, tmp_path):
    """20 records of pictures and more, in two generations."""
    path = write(tmp_path / "ds", request.param, 0, 12)
    return write(path, request.param, 12, 20, append=True)


@pytest.fixture
def shards(dataset):
    """The dataset's shard files, in order."""
    return sorted(p for p in dataset.iterdir() if p.suffix in (".parquet", ".rec"))


def flip(path, at=60):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.fixture(name="flip")
def _flip():
    """flip(path, at): changes one bit of a file."""
    return flip
