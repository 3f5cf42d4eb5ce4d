"""A filter leaves samples out: batches are shorter, everything else stays where it was."""

from __future__ import annotations

import pytest
import torch

import forebay as fb

T = fb.transforms
N = 100
FIELDS = {
    "image": "png",
    "label": "int64",
    "x": "float32[2,3]",
    "text": "text?",
    "ids": "uint16[*]",
}
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module", params=["parquet", "recordio"])
def path(request, kit, tmp_path_factory):
    return kit.write(
        tmp_path_factory.mktemp("filter") / "d", N, request.param, "none", FIELDS,
        block_bytes=4_000, shard_bytes=16_000,
    )  # fmt: skip


def make(path, **options):
    given_ = {
        "batch_size": 8, "shuffle": "window", "num_workers": 0, "window_bytes": "20kB",
        "memory": "8MB", "seed": 3,
        "decode": {"image": fb.Image(T.RandomResizedCrop(5)), "ids": T.Pad(7, multiple_of=3)},
    }  # fmt: skip
    return fb.DataLoader(fb.open_dataset(path, columns=list(FIELDS)), **{**given_, **options})


def third(sample):
    return sample[1] % 3 > 0


def rows(loader, batch):
    """{position: sample} of a batch, repeats included."""
    info = loader.batch_info
    image, label, x, text, ids = batch
    lengths = info.lengths["ids"]
    assert {len(f) for f in (*batch, lengths)} == {len(info.positions)}
    return {
        int(info.positions[i]): (
            image[i].numpy().tobytes(), int(label[i]), x[i].tolist(), text[i],
            ids[i, : lengths[i]].tolist(), set(ids[i, lengths[i] :].tolist()) <= {7},
        )
        for i in range(len(info.positions))
    }  # fmt: skip


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_is_kept_is_what_was_there(path, size, threads):
    every = {}
    bare = make(path, batch_size=N, num_workers=0)
    for batch in bare:
        every |= rows(bare, batch)
    found = {}
    loaders = [
        make(path, filter=third, rank=r, world_size=size, num_workers=threads) for r in range(size)
    ]
    for step, batches in enumerate(zip(*loaders, strict=True)):
        planned = range(8 * size * step, min(8 * size * (step + 1), N))
        for loader, batch in zip(loaders, batches, strict=True):
            new, info = rows(loader, batch), loader.batch_info
            assert info.n_global == len(planned)
            assert info.weight == pytest.approx(info.n * size / info.n_global)
            assert info.after == planned[-1] + 1
            assert not info.faults
            counted = set(list(new)[: info.n])
            assert counted <= set(planned)
            assert set(new) - counted <= set(range(size))  # those that come again
            found |= {p: new[p] for p in counted}
    assert found == {p: row for p, row in every.items() if row[1] % 3}
    assert all(row[-1] for row in found.values())


def test_the_filter_sees_samples_without_padding(path):
    lengths = []
    loader = make(path, filter=lambda s: lengths.append(len(s[4])) or True)
    told = [n for _ in loader for n in loader.batch_info.lengths["ids"]]
    assert sorted(told) == sorted(lengths)
    assert max(lengths) > min(lengths)


def test_a_batch_without_samples_keeps_its_shape(path):
    loader = make(path, filter=lambda s: s[1] >= 16, shuffle=False)
    image, label, x, text, ids = next(iter(loader))
    info = loader.batch_info
    assert (info.n, info.weight, len(info.positions), info.n_global) == (0, 0.0, 0, 8)
    assert image.shape == (0, 3, 5, 5)
    assert (label.shape, x.shape, ids.shape[0], text) == ((0,), (0, 2, 3), 0, [])
    assert sum(len(batch[1]) for batch in loader) == N - 16


def test_of_a_map_nothing_tells_the_shape(path):
    loader = make(path, filter=lambda s: s[1] >= 16, map=lambda s: (s[0], s[1]), shuffle=False,
                  decode={"image": fb.Image(T.CenterCrop(5))})  # fmt: skip
    first, second, third_, *_ = list(loader)
    assert (first, second) == ([], [])
    assert third_[0].shape == (8, 3, 5, 5)
    iterator = iter(loader)
    assert next(iterator) == []
    assert (loader.batch_info.n, loader.batch_info.weight) == (0, 0.0)
    assert loader.position.step == 1


def test_map_gets_what_the_filter_left(path):
    mapped = []
    loader = make(path, filter=third, map=lambda s: mapped.append(int(s[1])) or s[1], decode=None)
    labels = torch.cat(list(loader)).tolist()
    assert sorted(labels) == sorted(mapped) == [n for n in range(N) if n % 3]


@pytest.mark.parametrize("verdict", [1, True, torch.tensor(True), "yes"])
def test_whatever_is_true_keeps_a_sample(path, verdict):
    assert len(next(iter(make(path, filter=lambda s: verdict)))[1]) == 8


def test_an_ambiguous_verdict_is_a_fault(path):
    with pytest.raises(fb.errors.SampleError, match="failed in filter: RuntimeError: Boolean"):
        next(iter(make(path, filter=lambda s: s[2] > 0.5)))
