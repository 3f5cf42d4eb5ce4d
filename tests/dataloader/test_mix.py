"""Mixtures: shares, passes, ranks, going on, and what the door refuses."""

from __future__ import annotations

import functools
import itertools
import json
import pickle
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.plan.shares import Shares
from forebay.errors import CursorError
from forebay.formats.writer import write_dataset

SIZES = {"a": 300, "b": 70}
FORGIVING = {"on_error": "replace", "max_errors": 1_000}
ORDERS = [False, "blocks", "window", "full"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Dataset a has the labels from 0 on, b those from 1000 on."""
    made = {}
    for (name, size), form in zip(SIZES.items(), ["parquet", "recordio"], strict=True):
        folder = tmp_path_factory.mktemp("mix") / name
        first = 0 if name == "a" else 1000
        write_dataset(
            folder,
            ({"label": first + i, "blob": b"x" * (i % 80)} for i in range(size)),
            fields={"label": "int64", "blob": "bytes"},
            format=form,
            block_bytes=300,
            shard_bytes=2_000,
        )
        made[name] = fb.open_dataset(folder)
    return made


@pytest.fixture(scope="module")
def mixture(parts):
    return fb.mix(parts, {"a": 7, "b": 3}, 430)


@pytest.fixture(scope="module")
def faulty(parts, tmp_path_factory):
    """The same datasets with some damaged records in b."""
    folder = tmp_path_factory.mktemp("faulty") / "b"
    shutil.copytree(parts["b"].name, folder)
    for file in folder.glob("*.rec"):
        data = bytearray(file.read_bytes())
        for place in range(60, len(data) // 2, 90):
            data[place] ^= 1
        file.write_bytes(data)
    damaged = fb.open_dataset(folder)
    assert 4 < len(damaged.verify(workers=1).faults) < 40
    return {"a": parts["a"], "b": damaged}


def make(mixture, **options):
    given = {"num_workers": 0, "seed": 3, "batch_size": 12, "window_bytes": "3kB"}
    return fb.DataLoader(mixture, **{**given, **options})


def epoch_of(loader, batches=None):
    found = []
    for batch in loader if batches is None else batches:
        info = loader.batch_info
        labels = batch["label"].numpy()
        assert (info.sources == (labels >= 1000)).all()
        found += labels[: info.n].tolist()
    return found


def of(found, name):
    low = 0 if name == "a" else 1000
    return [n - low for n in found if (n >= 1000) == (name == "b")]


@pytest.mark.parametrize("shuffle", ORDERS)
@pytest.mark.parametrize("epoch", ["longest", "shortest", 137, 500])
def test_every_sample_of_a_dataset_comes_once_before_any_comes_again(parts, shuffle, epoch):
    mixture = fb.mix(parts, {"a": 7, "b": 3}, epoch)
    loader = make(mixture, shuffle=shuffle)
    found = [epoch_of(loader) for _ in range(6)]
    assert {len(f) for f in found} == {len(mixture)}
    for name, size in SIZES.items():
        joined = list(itertools.chain.from_iterable(of(f, name) for f in found))
        passes = [joined[i : i + size] for i in range(0, len(joined) - size + 1, size)]
        assert all(sorted(p) == list(range(size)) for p in passes)
        if shuffle and len(passes) > 1:
            assert passes[0] != passes[1], "each pass in an order of its own"
        if not shuffle:
            assert passes == [list(range(size))] * len(passes)


def test_how_long_an_epoch_is(parts):
    weights = {"a": 7, "b": 3}
    assert len(fb.mix(parts, weights)) == 10 * 43, "a is through after 43 cycles"
    assert len(fb.mix(parts, weights, "shortest")) == 10 * 23
    assert len(fb.mix(parts, weights, 99)) == 99
    proportional = fb.mix(parts)
    assert len(proportional) == 370
    assert sorted(epoch_of(make(proportional, shuffle=True))) == [*range(300), *range(1000, 1070)]


def test_shares_hold_over_every_group_and_every_epoch(tmp_path):
    made = {}
    for name, size in (("x", 9_000), ("y", 50), ("z", 4_000)):
        rows = ({"label": i} for i in range(size))
        write_dataset(tmp_path / name, rows, fields={"label": "int32"}, format="parquet")
        made[name] = fb.open_dataset(tmp_path / name)
    mixture = fb.mix(made, {"x": 0.5, "y": 0.2, "z": 0.3}, epoch=10_000)
    loader = make(mixture, shuffle=True, batch_size=250)
    for _ in range(2):
        sources = np.concatenate([loader.batch_info.sources for _ in loader])
        for first in range(0, 8_000, 4_090):
            counts = np.bincount(sources[first : first + 4_090])
            assert counts.tolist() == [2_045, 818, 1_227]
        assert np.bincount(sources).tolist() == [5_000, 2_000, 3_000]
        # A random order, not a pattern that a rank would always meet alike.
        assert 0.4 < np.mean(sources[::10] == 0) < 0.6
    told = loader.explain()
    assert told.components["y"].passes == 40
    assert told.components["x"].share == 0.5
    assert "dataset y: 20.00% of the samples, 40.00 passes an epoch" in str(told)
    assert pickle.loads(pickle.dumps(mixture)).fingerprint == mixture.fingerprint


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shuffle=st.sampled_from(ORDERS),
    epoch=st.sampled_from(["longest", 137]),
    legs=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=4),
    threads=st.integers(0, 2),
    memory=st.sampled_from(["1GB", "200kB"]),
    kept=st.booleans(),
    damaged=st.booleans(),
)
def test_a_stream_goes_on_anywhere(
    go_on, parts, faulty, shuffle, epoch, legs, threads, memory, kept, damaged
):
    parts, options = (faulty, FORGIVING) if damaged else (parts, {})
    if kept:
        parts = {"a": parts["a"].filter("label % 3 < 2"), "b": parts["b"]}
    mixture = fb.mix(parts, {"a": 7, "b": 3}, epoch)
    whole = make(mixture, shuffle=shuffle, **options)
    expected = list(itertools.chain.from_iterable(epoch_of(whole) for _ in range(4)))
    options = {"shuffle": shuffle, "num_workers": threads, "memory": memory, **options}
    found = go_on(
        lambda rank, size: make(
            mixture, **options, rank=rank, world_size=size, batch_size=12 // size
        ),
        legs,
    )
    assert found == expected[: len(found)]


def taken_by_legs(loader, legs, after):
    """What one loader gives that is never made again, leg by leg as `go_on` takes them; and the
    pass that is under way."""
    found, batches = [], iter(loader)
    for leg, (_, stop) in enumerate(legs):
        taken = 0
        while taken < stop:
            batch = next(batches, None)
            if batch is not None:
                found += batch["label"][: loader.batch_info.n].tolist()
                taken += 1
                continue
            batches = iter(loader)
            if taken:
                break
        after(loader, leg)
    return found, batches


@functools.cache
def stream_of(name, mixture, shuffle):
    """A dataset's samples, one behind the other, whatever its share."""
    loader = make(mixture, shuffle=shuffle)
    found = []
    while len(found) < 10 * len(mixture):
        found += of(epoch_of(loader), name)
    return found


WEIGHTS = st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shuffle=st.sampled_from(ORDERS),
    legs=st.lists(
        st.tuples(st.integers(1, 4), st.integers(0, 20), WEIGHTS), min_size=1, max_size=5
    ),
    threads=st.integers(0, 2),
    memory=st.sampled_from(["1GB", "200kB"]),
)
def test_weights_change_at_a_step(go_on, mixture, shuffle, legs, threads, memory):
    weights = [dict(zip("ab", chosen, strict=True)) for *_, chosen in legs]
    options = {"shuffle": shuffle, "num_workers": threads, "memory": memory}

    def change(loader, leg):
        loader.set_weights(weights[leg])

    ranks = [(size, stop) for size, stop, _ in legs]
    found = go_on(
        lambda rank, size: make(
            mixture, **options, rank=rank, world_size=size, batch_size=12 // size
        ),
        ranks,
        change,
    )
    live = make(mixture, **options)
    expected, batches = taken_by_legs(live, ranks, change)
    assert found == expected, "made again or not, it is one stream"
    rest = [epoch_of(live, batches), epoch_of(live), epoch_of(live)]
    dealt = Shares(mixture.quota(weights[-1]), len(mixture)).in_epoch().tolist()
    for whole in rest[1:]:
        assert [len(of(whole, name)) for name in "ab"] == dealt
    joined = [*found, *itertools.chain.from_iterable(rest)]
    for name in "ab":
        own = of(joined, name)
        assert own == stream_of(name, mixture, shuffle)[: len(own)]


def test_a_cursor_brings_its_weights_and_no_other(mixture):
    loader = make(mixture, shuffle=True)
    first = loader.state_dict()
    assert "mixture" not in first
    batches = iter(loader)
    for _ in range(5):
        next(batches)
    loader.set_weights({"a": 0, "b": 1})
    assert loader.explain().components["a"].share == 0
    state = json.loads(json.dumps(loader.state_dict()))
    assert len(json.dumps(state)) < 4096
    assert of([*next(batches)["label"]], "a") == []
    other = make(mixture, shuffle=True)
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert of(epoch_of(other), "a") == []
    other.load_state_dict(first)
    assert other.state_dict() == first
    assert other.explain().components["a"].share == 0.7


def test_what_came_before_other_weights_is_gone(mixture):
    loader = make(mixture, shuffle=True)
    batches = iter(loader)
    next(batches)
    before = loader.state_dict()
    next(batches)
    loader.set_weights({"a": 1, "b": 1})
    for go in (lambda: loader.seek(0, 1), lambda: loader.set_epoch(0)):
        with pytest.raises(ValueError, match="epoch 0, sample 24, where set_weights was called"):
            go()
    assert loader.position == (0, 2, 24)
    loader.seek(0, 2)
    loader.set_epoch(1)
    loader.load_state_dict(before)
    loader.seek(0, 0)


def test_weights_that_cannot_be_set(mixture, parts):
    with pytest.raises(ValueError, match="no mixture"):
        make(parts["a"]).set_weights({"a": 1})
    loader = make(mixture)
    for weights, error in [({"a": 1}, ValueError), ({"a": 0, "b": 0}, ValueError), (3, ValueError),
                           ({"a": "x", "b": 1}, TypeError)]:  # fmt: skip
        with pytest.raises(error, match="weight"):
            loader.set_weights(weights)
    assert "mixture" not in loader.state_dict()
    many = make(fb.mix({f"d{i}": parts["b"] for i in range(65)}))
    with pytest.raises(ValueError, match="64 datasets"):
        many.set_weights({f"d{i}": 1 for i in range(65)})
    fits = make(fb.mix({f"d{i}": parts["b"] for i in range(64)}))
    fits.seek(2**64 - 1, 10)
    fits.set_weights({f"d{i}": 1 + i for i in range(64)})
    assert len(json.dumps(fits.state_dict())) < 4096


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (3, "mixture: expected"),
        ({"epoch": -1}, "mixture: epoch -1"),
        ({"position": 13, "taken": [7, 6]}, "behind where the cursor stands"),
        ({"taken": [12, 1]}, r"mixture\.taken"),
        ({"taken": [12.0, 0]}, r"mixture\.taken"),
        ({"taken": [12]}, r"mixture\.taken"),
        ({"quota": [0, 0]}, r"mixture\.quota"),
        ({"quota": [4096, 1]}, r"mixture\.quota"),
        ({"quota": "11"}, r"mixture\.quota"),
        ({"more": 1}, "mixture: expected"),
    ],
)
def test_a_damaged_change_of_weights_is_refused(mixture, parts, damage, says):
    loader = make(mixture)
    next(iter(loader))
    loader.set_weights({"a": 1, "b": 1})
    state = loader.state_dict()
    state["mixture"] = state["mixture"] | damage if isinstance(damage, dict) else damage
    with pytest.raises(CursorError, match=says):
        make(mixture).load_state_dict(state)


def test_each_block_is_read_once_a_pass(parts):
    mixture = fb.mix(parts, epoch="longest")
    loader = make(mixture, shuffle="window", memory="200kB")
    epoch_of(loader)
    calls = next(s.calls for s in loader.stats().stages if s.name == "fetch")
    assert calls == len(mixture.blocks)


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_faults_name_the_dataset_and_are_replaced_from_it(parts, tmp_path, on_error):
    folder = tmp_path / "b"
    shutil.copytree(parts["b"].name, folder)
    file = min(folder.glob("*.rec"))
    data = bytearray(file.read_bytes())
    data[60] ^= 1
    file.write_bytes(data)
    mixture = fb.mix({"a": parts["a"], "b": fb.open_dataset(folder)}, {"a": 1, "b": 1}, 140)
    log = tmp_path / "faults.jsonl"
    loader = make(mixture, shuffle=True, on_error=on_error, quarantine=log)
    found = []
    for batch in loader:
        sources = loader.batch_info.sources
        assert (sources == (batch["label"].numpy() >= 1000)).all()
        found += sources.tolist()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["shard"] for line in lines} == {"b/shard-00000.rec"}
    assert np.bincount(found).tolist() == [70, 70 - (on_error == "skip") * len(lines)]
    if on_error == "replace":
        assert {line["by"]["shard"].split("/")[0] for line in lines} == {"b"}


def test_a_cursor_of_another_mixture_is_refused(parts):
    weights = {"a": 7, "b": 3}
    state = make(fb.mix(parts, weights), shuffle=True).state_dict()
    for other in (fb.mix(parts, {"a": 1, "b": 1}), fb.mix(parts, weights, "shortest")):
        with pytest.raises(CursorError, match=r"plan\.mixture: "):
            make(other, shuffle=True).load_state_dict(state)
    renamed = fb.mix({"a": parts["a"], "c": parts["b"]}, {"a": 7, "c": 3})
    with pytest.raises(CursorError, match="fingerprint"):
        make(renamed, shuffle=True).load_state_dict(state)


def test_what_the_door_refuses(parts, tmp_path):
    a = parts["a"]
    write_dataset(tmp_path / "f", [{"label": 1.5, "blob": b""}], format="parquet",
                  fields={"label": "float32", "blob": "bytes"})  # fmt: skip
    other = fb.open_dataset(tmp_path / "f")
    for datasets, weights, epoch, error, says in [
        ({}, None, "longest", TypeError, "takes a dict"),
        ([a], None, "longest", TypeError, "takes a dict"),
        ({"a": 3}, None, "longest", TypeError, "got int"),
        ({"a/b": a}, None, "longest", ValueError, "without '/'"),
        ({"a": a, "f": other}, None, "longest", ValueError, "'label' is 'float32' in 'f'"),
        ({"a": a, "c": fb.open_dataset(a.name, columns=["label", "blob"])}, None, "longest",
         ValueError, "tuples here"),
        ({"a": a.filter("label < 0")}, None, "longest", ValueError, "no samples"),
        (parts, {"a": 1}, "longest", ValueError, "one for each"),
        (parts, {"a": 1, "b": -1}, "longest", ValueError, "not below 0"),
        (parts, {"a": 0, "b": 0.0}, "longest", ValueError, "all weights are 0"),
        (parts, {"a": 1, "b": float("nan")}, "longest", ValueError, "finite"),
        (parts, {"a": 1, "b": "2"}, "longest", TypeError, "a number"),
        (parts, None, "most", ValueError, "longest"),
        (parts, None, 0, ValueError, "above 0"),
        (parts, {"a": 4000, "b": 71}, "shortest", ValueError, "no sample"),
    ]:  # fmt: skip
        with pytest.raises(error, match=says):
            fb.mix(datasets, weights, epoch)
    with pytest.raises(ValueError, match="given to mix"):
        make(fb.mix(parts), weights=np.ones(370))
