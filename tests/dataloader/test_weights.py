"""Weighted sampling through the loader: what comes, how it goes on, and what the door refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

import forebay as fb

N = 3000
WEIGHTS = np.arange(N) % 7


@pytest.fixture(params=["parquet", "recordio"])
def dataset(request, labels):
    return fb.open_dataset(labels(request.param, N))


def make(dataset, **options):
    given = {"weights": WEIGHTS, "num_workers": 0, "seed": 2, "batch_size": 16}
    return fb.DataLoader(dataset, **{**given, **options})


def stream(loader):
    found = []
    for batch in loader:
        found += batch["label"][: loader.batch_info.n].tolist()
    return found


@pytest.mark.parametrize("memory", ["1GB", "110kB"])
def test_samples_come_as_often_as_they_weigh(dataset, memory):
    loader = make(dataset, num_samples=3_000, memory=memory)
    assert len(loader) == 188
    found = np.bincount(stream(loader), minlength=N)
    assert found[WEIGHTS == 0].sum() == 0
    for weight in range(1, 7):
        expected = 3_000 * weight / WEIGHTS.sum()
        assert found[weight == WEIGHTS].mean() == pytest.approx(expected, rel=0.2)
    assert found.sum() == 3_000


def test_without_replacement_each_comes_once_by_default(dataset):
    found = stream(make(dataset, replacement=False))
    assert sorted(found) == np.flatnonzero(WEIGHTS).tolist()
    assert found != sorted(found)
    assert stream(make(dataset, replacement=False, num_samples=5)) == found[:5]


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_cursor_goes_on_with_any_ranks(dataset, replacement, size):
    whole = stream(make(dataset, replacement=replacement))
    loader = make(dataset, replacement=replacement, num_workers=2)
    iterator = iter(loader)
    found = [n for _ in range(5) for n in next(iterator)["label"].tolist()]
    state = json.loads(json.dumps(loader.state_dict()))
    iterator.close()
    rest = {}
    for rank in range(size):
        other = make(
            dataset, replacement=replacement, rank=rank, world_size=size, batch_size=7,
            memory="110kB",
        )  # fmt: skip
        other.load_state_dict(state)
        for batch in other:
            info = other.batch_info
            labels = batch["label"][: info.n].tolist()
            rest |= dict(zip(info.positions[: info.n].tolist(), labels, strict=True))
    assert found + [rest[p] for p in sorted(rest)] == whole


def test_a_cursor_of_other_weights_is_refused(dataset):
    state = make(dataset).state_dict()
    for other, field in (
        ({"weights": WEIGHTS * 2}, "plan.weights"),
        ({"num_samples": 10}, "plan.samples"),
        ({"replacement": False}, "plan.replacement"),
        ({"weights": None}, "plan.order"),
    ):
        with pytest.raises(fb.errors.CursorError, match=field):
            make(dataset, **other).load_state_dict(state)


def test_explain_tells_of_weights(dataset):
    told = make(dataset).explain()
    assert (told.order, told.samples) == ("weighted", np.count_nonzero(WEIGHTS))
    assert told.shuffle_quality > 0.9


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"weights": [1.0]}, ValueError, r"one number for each of 3000 records, got shape \(1,\)"),
        ({"weights": "heavy"}, TypeError, "weights must be numbers"),
        ({"weights": [-1.0] * N}, ValueError, "weight 0 is -1.0"),
        ({"weights": [*[1] * 2999, np.nan]}, ValueError, "weight 2999 is nan"),
        ({"weights": [np.inf] * N}, ValueError, "weight 0 is inf"),
        ({"weights": [0] * N}, ValueError, "weights must not all be zero"),
        ({"shuffle": True}, ValueError, "leave out shuffle=True"),
        ({"num_samples": -1}, ValueError, "num_samples must be an int of at least 0"),
        (
            {"num_samples": 2572, "replacement": False},
            ValueError,
            "must be at most 2571, the records",
        ),
        ({"weights": None, "num_samples": 5}, ValueError, "num_samples and replacement go with"),
        ({"weights": None, "replacement": False}, ValueError, "num_samples and replacement go"),
        ({"affinity": True}, ValueError, "got order 'weighted'"),
    ],
)
def test_what_the_door_refuses(dataset, options, error, message):
    with pytest.raises(error, match=message):
        make(dataset, **options)
