"""Small datasets with every kind of field, and what their samples look like in a batch."""

from __future__ import annotations

import io
import itertools
import json
from types import SimpleNamespace

import numpy as np
import PIL.Image
import pytest
import torch

import forebay as fb

FIELDS = {
    "image": "png",
    "label": "int64",
    "x": "float32[2,3]",
    "flag": "bool",
    "ids": "uint16[*]",
    "text": "text",
    "blob": "bytes",
    "note": "text?",
    "score": "float64?",
    "opt": "int16[*]?",
}
FORMATS = ("parquet", "recordio")


def picture(i, size=(7, 9)):
    pixels = np.random.default_rng(i).integers(0, 256, (*size, 3), np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def record(i, fields=FIELDS):
    """Record i with these fields."""
    rng = np.random.default_rng(1000 + i)
    values = {
        "image": picture(i) if "image" in fields else b"",
        "label": i,
        "x": rng.random((2, 3), np.float32),
        "flag": i % 3 == 0,
        "ids": rng.integers(0, 65536, i % 7).astype(np.uint16),
        "text": f"Größe {i} " * (i % 4),
        "blob": rng.bytes(i % 50),
        "note": None if i % 5 == 0 else f"note {i}",
        "score": None if i % 4 == 1 else i / 8,
        "opt": None if i % 6 == 2 else np.arange(i % 3, dtype=np.int16),
    }
    return {name: values[name] for name in fields}


def write(path, n=240, format="parquet", codec="zstd", fields=FIELDS, **options):
    options = {"shard_bytes": 30_000, "block_bytes": 6_000, **options}
    records = [record(i, fields) for i in range(n)]
    fb.write_dataset(path, records, fields, format=format, codec=codec, **options)
    return path


def plain(value):
    """A value of a sample, of `ds[i]` or of a batch, as something that == compares."""
    if isinstance(value, torch.Tensor | np.ndarray):
        return value.tolist()
    return value


def samples(batch, names):
    """The samples of a batch, as tuples of plain values in the fields' order."""
    columns = [batch[n] for n in names] if isinstance(batch, dict) else batch
    return list(zip(*[[plain(v) for v in c] for c in columns], strict=True))


def comparable(sample):
    """A sample in which the null of a tensor, NaN, equals that of `ds[i]`, None."""
    return tuple(None if isinstance(v, float) and np.isnan(v) else v for v in sample)


@pytest.fixture(scope="session")
def kit():
    """The functions of this page."""
    return SimpleNamespace(
        fields=FIELDS, record=record, picture=picture, write=write, samples=samples,
        comparable=comparable, plain=plain,
    )  # fmt: skip


@pytest.fixture(scope="session", params=FORMATS)
def every_kind(request, tmp_path_factory):
    """The folder of a dataset of 240 records with every kind of field, in each format."""
    return write(tmp_path_factory.mktemp("every-kind") / "d", format=request.param)


@pytest.fixture(scope="session")
def labels(tmp_path_factory):
    """labels(format, n): the folder of a dataset of n records of an int64 and 40 bytes."""
    made = {}

    def make(format="recordio", n=100):
        if (format, n) not in made:
            made[format, n] = write(
                tmp_path_factory.mktemp("labels") / "d", n, format, "none",
                {"label": "int64", "blob": "bytes"}, block_bytes=300, shard_bytes=2_000,
            )  # fmt: skip
        return made[format, n]

    return make


def go_on(make, legs, after=lambda loader, leg: None):
    """Labels in the order of all ranks, of loaders that go on from one another's states.

    Args:
        make: a loader of (rank, world size); its batches are dicts with a "label".
        legs: (world size, batches to take, None for all that are left in the epoch) of each.
        after: is called with each loader and the number of its leg before its state is taken.
    """
    found, state = [], None
    for leg, (size, stop) in enumerate(legs):
        ranks, states = [], []
        for rank in range(size):
            loader = make(rank, size)
            if state is not None:
                loader.load_state_dict(json.loads(json.dumps(state)))
            got = []
            batches = iter(loader)
            for batch in itertools.islice(batches, stop):
                got.append(batch["label"][: loader.batch_info.n].tolist())
            batches.close()
            after(loader, leg)
            ranks.append(got)
            states.append(loader.state_dict())
        assert all(s == states[0] for s in states)
        state = states[0]
        for batches in zip(*ranks, strict=True):
            dealt = itertools.zip_longest(*batches)
            found += [n for group in dealt for n in group if n is not None]
    return found


@pytest.fixture(scope="session", name="go_on")
def _go_on():
    return go_on
