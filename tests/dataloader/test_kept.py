"""Loaders over what an expression keeps: every order, any ranks, stopped and gone on."""

from __future__ import annotations

import itertools
import json
import pickle
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.errors import CursorError, ShardError

N = 600
KEPT = [n for n in range(N) if n % 7 < 3 and n >= 40]
FILTER = "label % 7 < 3 and label >= 40"


@pytest.fixture(params=["parquet", "recordio"])
def whole(request, labels):
    return fb.open_dataset(labels(request.param, N))


def make(dataset, **options):
    return fb.DataLoader(dataset, **{"num_workers": 0, "seed": 2, "batch_size": 16, **options})


def stream(loader):
    found = []
    for batch in loader:
        found += batch["label"][: loader.batch_info.n].tolist()
    return found


def test_the_dataset(whole):
    kept = whole.filter(FILTER)
    assert len(kept) == len(KEPT)
    assert [kept[i]["label"] for i in range(len(kept))] == KEPT
    assert kept[-1]["label"] == KEPT[-1]
    picked = [5, 0, 5, len(KEPT) - 1]
    assert [s["label"] for s in kept.__getitems__(picked)] == [KEPT[i] for i in picked]
    with pytest.raises(IndexError, match=f"{len(KEPT)} samples"):
        kept[len(KEPT)]
    assert kept.verify().ok
    assert FILTER in repr(kept)
    assert len({whole.fingerprint, kept.fingerprint, whole.filter("label < 3").fingerprint}) == 3
    assert whole.filter("label%7<3 and (label>=40)").fingerprint == kept.fingerprint


def test_filters_join_and_need_no_column(whole):
    columns = fb.open_dataset(whole.name, columns=["blob"])
    kept = columns.filter("label % 7 < 3").filter("label >= 40")
    assert kept.columns == ("blob",)
    assert len(kept) == len(KEPT)
    assert kept[3] == (whole[KEPT[3]]["blob"],)
    assert kept.filtered == FILTER


def test_copies_keep_what_is_kept(whole):
    kept = whole.filter(FILTER)
    data = pickle.dumps(kept)
    assert len(data) < 2_000
    copy = pickle.loads(data)
    assert copy.fingerprint == kept.fingerprint
    assert stream(make(copy)) == KEPT


@pytest.mark.parametrize("shuffle", [False, "blocks", "window", "full"])
@pytest.mark.parametrize("memory", ["1GB", "150kB"])
def test_each_kept_sample_comes_once_in_every_order(whole, shuffle, memory):
    loader = make(whole.filter(FILTER), shuffle=shuffle, memory=memory, window_bytes="2kB")
    assert len(loader) == -(-len(KEPT) // 16)
    first, second = stream(loader), stream(loader)
    assert sorted(first) == sorted(second) == KEPT
    if shuffle:
        assert first != second
        assert first != KEPT
    else:
        assert first == KEPT
    told = loader.explain()
    assert (told.filtered, told.stored, told.samples) == (FILTER, N, len(KEPT))
    assert f"filter: {FILTER}, of {N} samples" in str(told)


def test_affinity_weights_and_nothing(whole):
    kept = whole.filter(FILTER)
    loader = make(kept, shuffle="window", affinity=True, window_bytes="2kB")
    assert sorted(stream(loader)) == KEPT
    weights = np.zeros(len(KEPT))
    weights[4:6] = 1
    drawn = stream(make(kept, weights=weights, num_samples=50))
    assert set(drawn) == set(KEPT[4:6])
    with pytest.raises(ValueError, match=f"each of {len(KEPT)} records"):
        make(kept, weights=np.ones(N))
    none = whole.filter("label < 0")
    assert len(none) == len(make(none)) == 0
    assert stream(make(none, shuffle=True)) == []


@pytest.mark.parametrize("shuffle", ["blocks", "window"])
def test_blocks_without_a_kept_row_are_not_read(labels, shuffle):
    whole = fb.open_dataset(labels("parquet", N))
    kept = whole.filter("label < 30")
    loader = make(kept, shuffle=shuffle, memory="1GB")
    assert sorted(stream(loader)) == list(range(30))
    need = int(np.searchsorted(whole.blocks.first_row, 29, "right"))
    assert len(kept.blocks) == need < len(whole.blocks)
    fetched = next(s for s in loader.stats().stages if s.name == "fetch")
    assert fetched.calls == need


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shuffle=st.sampled_from([False, "blocks", "window", "full"]),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    stops=st.lists(st.integers(0, 6), min_size=2, max_size=2),
    threads=st.integers(0, 2),
    form=st.sampled_from(["parquet", "recordio"]),
)
def test_a_stream_over_what_is_kept_goes_on_anywhere(
    go_on, labels, shuffle, sizes, stops, threads, form
):
    kept = fb.open_dataset(labels(form, N)).filter(FILTER)
    options = {"shuffle": shuffle, "window_bytes": "2kB", "batch_size": 1}
    expected = stream(make(kept, **options))
    options["num_workers"] = threads
    found = go_on(
        lambda rank, size: make(
            kept, **{**options, "rank": rank, "world_size": size, "batch_size": 12 // size}
        ),
        itertools.zip_longest(sizes, stops[: len(sizes) - 1]),
    )
    assert found == expected


def test_a_cursor_of_another_filter_is_refused(whole):
    state = make(whole.filter(FILTER)).state_dict()
    assert len(json.dumps(state)) < 4096
    for other in (whole, whole.filter("label < 3")):
        with pytest.raises(CursorError, match=r"plan\.filter: .*dataset\.filter\(\)"):
            make(other).load_state_dict(state)
    long = whole.filter(f"label in ({', '.join(map(str, range(2_000)))})")
    assert len(json.dumps(make(long).state_dict())) < 4096
    make(long).load_state_dict(make(long).state_dict())


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_what_stands_in_is_kept_too(labels, tmp_path, on_error):
    folder = tmp_path / "d"
    shutil.copytree(labels("recordio", N), folder)
    kept = fb.open_dataset(folder).filter(FILTER)
    for file in folder.glob("*.rec"):
        data = bytearray(file.read_bytes())
        data[300::400] = bytes(b ^ 1 for b in data[300::400])
        file.write_bytes(data)
    with pytest.raises(ShardError):
        fb.open_dataset(folder).filter(FILTER)
    lost = [KEPT[i] for i in range(len(kept)) if not sound(kept, i)]
    assert 10 < len(lost) < len(KEPT) / 2
    loader = make(kept, on_error=on_error, shuffle=True, max_errors=len(lost))
    found = stream(loader)
    if on_error == "skip":
        assert sorted(found) == sorted(set(KEPT) - set(lost))
    else:
        assert set(found) == set(KEPT) - set(lost)
        assert len(found) == len(KEPT)


def sound(dataset, i):
    try:
        dataset[i]
    except ShardError:
        return False
    return True
