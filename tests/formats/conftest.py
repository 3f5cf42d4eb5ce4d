"""Small datasets of every format and codec."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from forebay.formats.writer import write_dataset

FIELDS = {"größe": "text", "n": "int32?", "x": "float32[2]", "ids": "uint16[*]", "blob": "bytes"}


@dataclass(frozen=True)
class Making:
    """A way to write a dataset, and records to write."""

    format: str
    codec: str

    def record(self, i):
        generator = np.random.Generator(np.random.Philox(i))
        return {
            "größe": f"Größe {i} " * (i % 4),
            "n": None if i % 5 == 3 else i,
            "x": np.array([i, -i], np.float32),
            "ids": generator.integers(0, 65536, i % 6).astype(np.uint16),
            "blob": generator.bytes(30 + i % 20),
        }

    def records(self, start=0, stop=60):
        return [self.record(i) for i in range(start, stop)]

    def write(self, path, start=0, stop=60, **options):
        if not options.get("append"):
            options |= {"format": self.format, "codec": self.codec}
        options = {"shard_bytes": 3000, "block_bytes": 700, **options}
        return write_dataset(path, self.records(start, stop), FIELDS, **options)


@pytest.fixture(
    params=[(f, c) for f in ("parquet", "recordio") for c in ("zstd", "none")], ids="-".join
)
def making(request):
    return Making(*request.param)


def same(a, b):
    """Whether two samples hold the same values."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and same(tuple(a.values()), tuple(b.values()))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tolist() == b.tolist()
    return type(a) is type(b) and a == b


@pytest.fixture(name="same")
def _same():
    return same
