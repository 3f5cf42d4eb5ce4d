"""Ragged fields as padded tensors, and small batches that travel together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import forebay as fb
from forebay.errors import SchemaError

T = fb.transforms
N = 3000


@pytest.fixture(scope="module", params=["parquet", "recordio"])
def path(request, tmp_path_factory):
    rng = np.random.default_rng(3)
    records = [
        {"ids": rng.integers(1, 60_000, i * 7 % 40).astype(np.uint16), "label": i} for i in range(N)
    ]
    folder = tmp_path_factory.mktemp("ragged") / request.param
    fb.write_dataset(
        folder, records, {"ids": "uint16[*]", "label": "int64"}, format=request.param,
        block_bytes=9000, shard_bytes=60_000,
    )  # fmt: skip
    return folder


def loader(path, pad, **options):
    dataset = fb.open_dataset(path, columns=["ids", "label"])
    options = {"shuffle": True, "seed": 1, "num_workers": 2, "memory": "64MB"} | options
    return fb.DataLoader(dataset, options.pop("batch_size", 32), decode={"ids": pad}, **options)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("order", [False, "window", "full", "blocks"])
def test_padded_batches_are_the_samples(path, order, workers):
    made = loader(path, T.Pad(7), shuffle=order, num_workers=workers)
    dataset, seen = fb.open_dataset(path), []
    for ids, labels in made:
        info = made.batch_info
        lengths = info.lengths["ids"]
        assert (ids.dtype, len(ids), len(lengths)) == (torch.uint16, len(labels), info.n)
        assert ids.shape[1] == lengths.max()
        for row, length, label in zip(ids.numpy(), lengths, labels.tolist(), strict=True):
            assert row[:length].tolist() == dataset[label]["ids"].tolist()
            assert (row[length:] == 7).all()
            seen.append(label)
    assert sorted(seen) == list(range(N))
    assert made.stats().budget_overdrawn == 0


def test_length_left_and_multiples(path):
    dataset = fb.open_dataset(path)
    for ids, labels in loader(path, T.Pad(0, length=10, multiple_of=8, side="left")):
        assert ids.shape[1] == 16
        for row, label in zip(ids.numpy(), labels.tolist(), strict=True):
            kept = dataset[label]["ids"][:10]
            assert row.tolist() == [0] * (16 - len(kept)) + kept.tolist()


@pytest.mark.parametrize("batch_size", [1, 7, 1000, 5000])
def test_batches_are_the_same_however_they_travel(path, batch_size, monkeypatch):
    together = [ids.tolist() for ids, _ in loader(path, T.Pad(), batch_size=batch_size)]
    monkeypatch.setattr("forebay.dataloader.build.together", lambda *_: 1)
    alone = [ids.tolist() for ids, _ in loader(path, T.Pad(), batch_size=batch_size)]
    assert together == alone


def test_a_batch_is_the_consumer_s_alone(path):
    kept = list(loader(path, T.Pad(), shuffle=False))
    before = [ids.tolist() for ids, _ in kept[1:]]
    kept[0][0].zero_()
    assert [ids.tolist() for ids, _ in kept[1:]] == before
    assert kept[0][0].untyped_storage().nbytes() == kept[0][0].numel() * 2


def test_wrong_paddings_are_refused_at_the_door(path):
    with pytest.raises(ValueError, match="value -1 is not a number that uint16 holds"):
        loader(path, T.Pad(-1))
    with pytest.raises(ValueError, match="Pad is for ragged fields"):
        fb.DataLoader(fb.open_dataset(path), decode={"label": T.Pad()})
    with pytest.raises(SchemaError, match="no field 'x'"):
        fb.DataLoader(fb.open_dataset(path), decode={"x": T.Pad()})
    for wrong in ({"length": 0}, {"multiple_of": True}, {"side": "top"}):
        with pytest.raises(ValueError, match="Pad: "):
            T.Pad(**wrong)
    with pytest.raises(TypeError, match="must be a number"):
        T.Pad("x")
