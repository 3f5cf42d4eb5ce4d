"""map and filter on samples: exact whatever runs them, and what they raise is named."""

from __future__ import annotations

import gc
import json
import random
import threading
import time
import traceback
import weakref
from collections import namedtuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.flow import runner
from forebay.errors import SampleError, StageFailed, TooManyFaults

T = fb.transforms
N = 100
FIELDS = {
    "image": "png",
    "label": "int64",
    "x": "float32[2,3]",
    "text": "text?",
    "ids": "uint16[*]",
}
DECODE = {"image": fb.Image(T.RandomResizedCrop(5), T.RandomHorizontalFlip())}
BAD = frozenset((3, 17, 18, 60, 99))
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module", params=["parquet", "recordio"])
def path(request, kit, tmp_path_factory):
    return kit.write(
        tmp_path_factory.mktemp("map") / "d", N, request.param, "none", FIELDS, block_bytes=4_000,
        shard_bytes=16_000,
    )  # fmt: skip


@pytest.fixture(scope="module")
def numbers(kit, tmp_path_factory):
    """100 records of a number and a few bytes."""
    return kit.write(
        tmp_path_factory.mktemp("numbers") / "d", N, "recordio", "none",
        {"label": "int64", "blob": "bytes"}, block_bytes=300, shard_bytes=2_000,
    )  # fmt: skip


def make(path, columns=tuple(FIELDS), **options):
    given_ = {
        "batch_size": 8, "shuffle": "window", "num_workers": 0, "window_bytes": "20kB",
        "memory": "8MB", "seed": 3,
    }  # fmt: skip
    if columns is None or "image" in columns:
        given_["decode"] = DECODE
    return fb.DataLoader(fb.open_dataset(path, columns=columns), **{**given_, **options})


def plain(path, **options):
    """A loader of labels and their bytes."""
    return make(path, columns=["label", "blob"], **options)


def keep_some(sample):
    return fb.sample_rng().random() < 0.8


def jitter(sample):
    """Draws for every sample, raises for some, and returns what is nested."""
    image, label, x, text, ids = sample
    if label in BAD:
        raise ValueError(f"label {label} is bad")
    rng = fb.sample_rng()
    return {
        "image": image.float() * rng.random(),
        "pair": (label, rng.standard_normal(3)),
        "more": [x[rng.permutation(2)], f"{text}-{len(ids)}"],
    }


def jitter_with_all(sample):
    """As `jitter`, with numbers from every global generator too."""
    made = jitter(sample)
    made["globals"] = (random.random(), np.random.standard_normal(), torch.randn(2))
    return made


def rows(loader, batch):
    """{(epoch, position): everything of the sample} of what counts in a batch."""
    info = loader.batch_info
    if not len(info.positions):
        assert batch == []
        return {}
    drawn = batch.get("globals", ())
    columns = [batch["image"], *batch["pair"], *batch["more"], *drawn]
    assert {len(column) for column in columns} == {len(info.positions)}
    return {
        (info.epoch, int(info.positions[i])): tuple(
            c[i].numpy().tobytes() if isinstance(c, torch.Tensor) else c[i] for c in columns
        )
        for i in range(info.n)
    }


def stream(loader):
    found = {}
    for batch in loader:
        new = rows(loader, batch)
        assert not new.keys() & found.keys()
        found |= new
    return found


@pytest.fixture(scope="module")
def whole(path):
    """whole(on_error, code): the uninterrupted epoch of one rank."""
    found = {}

    def one(on_error, code=jitter):
        key = on_error, code
        if key not in found:
            found[key] = stream(make(path, map=code, filter=keep_some, on_error=on_error))
        return found[key]

    return one


LEGS = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.sampled_from([1, 2, 3]),
            "steps": st.integers(0, 6),
            "options": st.fixed_dictionaries(
                {
                    "batch_size": st.integers(1, 9),
                    "num_workers": st.sampled_from([0, 1, 2, 4]),
                    "prefetch": st.integers(1, 5),
                    "memory": st.sampled_from(["1MB", "8MB", "1GB"]),
                    "uneven": st.sampled_from(["pad", "wrap"]),
                }
            ),
        }
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=30, deadline=None)
@given(on_error=st.sampled_from(["skip", "replace"]), drawn=st.booleans(), legs=LEGS)
def test_legs_on_any_ranks_threads_and_batches_are_one_epoch(path, whole, on_error, drawn, legs):
    code = jitter_with_all if drawn else jitter
    state, found = None, {}
    for leg in [*legs, {**legs[-1], "steps": 10**6}]:
        options = {**leg["options"], **({"num_workers": 0} if drawn else {})}
        loaders = [
            make(
                path, map=code, filter=keep_some, on_error=on_error, rank=r,
                world_size=leg["size"], **options,
            )
            for r in range(leg["size"])
        ]  # fmt: skip
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(json.loads(state))
        if loaders[0].position.epoch:
            break
        for _, *batches in zip(range(leg["steps"]), *loaders, strict=False):
            for loader, batch in zip(loaders, batches, strict=True):
                new = rows(loader, batch)
                assert not new.keys() & found.keys()
                found |= new
        states = {json.dumps(loader.state_dict()) for loader in loaders}
        assert len(states) == 1
        state = states.pop()
    assert found == whole(on_error, code)


def test_the_stream_is_the_records_and_the_draws(path, kit, whole):
    found = whole("skip")
    lost = N - len(found)
    assert len(BAD) // 2 < lost < N // 2
    seen = set()
    for _, label, noise, x, text in found.values():
        number = int(np.frombuffer(label, np.int64)[0])
        record = kit.record(number, FIELDS)
        assert text == f"{record['text']}-{len(record['ids'])}"
        assert sorted(np.frombuffer(x, np.float32)) == sorted(record["x"].ravel())
        seen |= {number, noise}
    assert len(seen) == 2 * len(found), "two samples drew the same, or came twice"
    replaced = whole("replace")
    assert found.items() <= replaced.items()
    assert len(replaced) > len(found)


def test_other_seeds_and_epochs_draw_anew(path):
    def noise(loader):
        return [b["pair"][1] for b in loader]

    code = {"map": lambda s: {"pair": (s[1], fb.sample_rng().random())}}
    one, other = make(path, **code), make(path, **code, seed=4)
    first = torch.cat(noise(one))
    for again in (torch.cat(noise(one)), torch.cat(noise(other))):
        assert not set(first.tolist()) & set(again.tolist())


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("columns", [("image", "label", "x", "text"), None])
def test_the_identity_changes_nothing(kit, tmp_path, columns, threads):
    fields = {name: FIELDS[name] for name in ("image", "label", "x", "text")} | {"flag": "bool"}
    path = kit.write(tmp_path / "d", 50, "recordio", "none", fields)
    for bare, mapped in zip(
        make(path, columns), make(path, columns, map=lambda s: s, num_workers=threads), strict=True
    ):
        assert type(bare) is type(mapped)
        assert len(bare) == len(mapped)
        pairs = (
            [(bare[k], mapped[k]) for k in bare] if columns is None
            else zip(bare, mapped, strict=True)
        )  # fmt: skip
        for ours, theirs in pairs:
            if isinstance(ours, torch.Tensor):
                assert ours.dtype == theirs.dtype
                assert torch.equal(ours, theirs)
            else:
                assert ours == theirs


def test_what_a_function_gets(path):
    got = []
    next(iter(make(path, map=lambda s: got.append(s) or 0, filter=lambda s: got.append(s) or True)))
    image, label, x, text, ids = got[0]
    assert got[0] is got[1]
    assert (image.shape, image.dtype) == ((3, 5, 5), torch.uint8)
    assert (type(label), x.dtype, tuple(x.shape)) == (np.int64, torch.float32, (2, 3))
    assert (type(text), ids.dtype) == (str, torch.uint16)
    got.clear()
    next(iter(make(path, None, map=lambda s: got.append(s) or 0)))
    assert list(got[0]) == list(FIELDS)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_images_come_in_the_dtype_and_layout_asked_for(path, dtype):
    decode = {"image": fb.Image(T.CenterCrop(4), dtype=dtype, layout="channels_last")}
    bare = next(iter(make(path, ["image"], decode=decode)))[0]
    (mapped,) = next(iter(make(path, ["image"], decode=decode, map=lambda s: s)))
    assert mapped.dtype == bare.dtype
    assert torch.equal(mapped, bare)


Pair = namedtuple("Pair", "number squares")


def test_structures(numbers):
    def code(sample):
        label, blob = sample
        n = int(label)
        return Pair(n, [n * n, (float(n), {"deep": (np.full(2, n, np.int16), blob)})])

    batch = next(iter(plain(numbers, map=code, shuffle=False)))
    assert isinstance(batch, Pair)
    assert batch.number.tolist() == list(range(8))
    squares, (floats, deep) = batch.squares
    assert squares.tolist() == [n * n for n in range(8)]
    assert floats.dtype == torch.float64
    assert deep["deep"][0].tolist() == [[n, n] for n in range(8)]
    assert all(isinstance(value, bytes) for value in deep["deep"][1])


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("role", ["map", "filter"])
def test_what_a_function_raises_names_the_sample(numbers, role, threads):
    def fails(sample):
        if sample[0] == 21:
            return {}["no such key"]
        return True

    loader = plain(numbers, shuffle=False, num_workers=threads, **{role: fails})
    iterator = iter(loader)
    assert [len(next(iterator)) for _ in range(2)]
    with pytest.raises(SampleError) as caught:
        next(iterator)
    error = caught.value
    shard, record = loader._builder.where(*position_of(loader, 21))
    assert (error.position, error.stage) == (21, role)
    assert (error.shard, error.record) == (shard, record)
    assert str(error) == (
        f"sample at position 21 (shard {shard}, record {record}) failed in {role}: "
        "KeyError: 'no such key'; what it raised is this error's cause, with its traceback"
    )
    assert isinstance(error.__cause__, KeyError)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert frames[-1].name == "fails"


def position_of(loader, row):
    blocks, rows_ = loader.dataset.blocks.locate(np.array([row]))
    return int(blocks[0]), int(rows_[0])


def test_skip_and_replace_name_what_failed(numbers, tmp_path):
    def fails(sample):
        if sample[0] in BAD:
            raise ValueError(f"label {sample[0]} is bad")
        return sample[0]

    for on_error in ("skip", "replace"):
        file = tmp_path / on_error
        loader = plain(numbers, map=fails, on_error=on_error, quarantine=file)
        labels = torch.cat(list(loader)).tolist()
        assert not BAD & set(labels)
        assert len(labels) == N - (len(BAD) if on_error == "skip" else 0)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(lines) == len(BAD)
        assert {line["stage"] for line in lines} == {"map"}
        assert all("ValueError: label" in line["cause"] for line in lines)
    with pytest.raises(TooManyFaults):
        list(plain(numbers, map=fails, on_error="skip", max_errors=3))


def test_nothing_stands_in_that_the_filter_refuses(numbers):
    def fails(sample):
        if sample[0] % 10 == 3:
            raise ValueError
        return sample[0]

    def odd(sample):
        return sample[0] % 2 == 1

    loader = plain(numbers, map=fails, filter=odd, on_error="replace", max_errors=1.0)
    labels, faults = [], []
    for batch in loader:
        labels += list(batch)
        faults += loader.batch_info.faults
    assert len(faults) == 10
    assert all(fault.replacement is not None for fault in faults)
    assert len(labels) == 50
    assert all(int(label) % 2 and int(label) % 10 != 3 for label in labels)


def test_a_function_that_always_fails_ends_soon(numbers):
    calls = []

    def fails(sample):
        calls.append(sample)
        raise ValueError("always")

    with pytest.raises(TooManyFaults):
        next(iter(plain(numbers, map=fails, on_error="replace", batch_size=50, prefetch=1)))
    assert len(calls) == 50


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("threads", [0, 2])
def test_samples_that_do_not_collate_are_named_at_their_batch(numbers, threads, on_error):
    def code(sample):
        return {"x": [1, np.zeros(3 if sample[0] == 19 else 2, np.float32)]}

    loader = plain(numbers, map=code, shuffle=False, num_workers=threads, on_error=on_error)
    iterator = iter(loader)
    assert [len(next(iterator)["x"]) for _ in range(2)] == [2, 2]
    with pytest.raises(SampleError) as caught:
        next(iterator)
    assert (caught.value.position, caught.value.stage) == (19, "collate")
    assert (
        "what map returned does not collate: ['x'][1] is float32 of shape (3,), but float32 of "
        "shape (2,) in the sample at position 16"
    ) in str(caught.value)


def test_no_sample_at_all_is_named(numbers):
    with pytest.raises(SampleError, match=r"position 0 .* None, not a sample"):
        next(iter(plain(numbers, map=lambda s: None, shuffle=False)))
    with pytest.raises(SampleError, match="filter returned None; let it return True"):
        next(iter(plain(numbers, filter=lambda s: None, shuffle=False)))


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), MemoryError("out")])
def test_what_is_no_fault_of_a_sample_ends_the_run(numbers, end, threads):
    def stops(sample):
        raise end

    loader = plain(numbers, map=stops, on_error="skip", num_workers=threads)
    passes = not threads and not isinstance(end, Exception)
    with pytest.raises(type(end) if passes else StageFailed) as caught:
        next(iter(loader))
    assert caught.value is end or caught.value.__cause__ is end


def test_memory_of_larger_samples_is_charged(numbers):
    size = 1 << 20

    def larger(sample):
        return np.full(size // 8, sample[0], np.int64)

    limit = 40 * size
    loader = plain(
        numbers, map=larger, batch_size=4, memory=limit, num_workers=2, prefetch=16, shuffle=False
    )
    for epoch in range(2):
        loader.set_epoch(epoch)
        for step, batch in enumerate(loader):
            assert batch[:, 0].tolist() == list(range(4 * step, 4 * step + 4))
            held = loader.stats().budget_by_account
            # At least what waits: sixteen flights are under way, or as many as there is room for.
            assert sum(held.values()) <= limit
    stats = loader.stats()
    assert stats.budget_overdrawn == 0
    # Of sixteen batches with their samples, 128 MiB, only what fits was made at once.
    assert 8 * size < stats.budget_peak <= limit
    assert stats.stage("user code").items == 2 * N
    left = {
        k: v for k, v in stats.budget_by_account.items() if k not in ("indexes", "pool", "kept")
    }
    assert not any(left.values())


def test_what_a_function_returns_may_view_what_it_got(path):
    """The batch shares no memory with it, so slots are used again."""
    kept = []
    for batch in make(path, ["image", "label"], map=lambda s: (s[0][:, 1:4], s[1])):
        kept.append((batch, batch[0].clone()))
    assert all(torch.equal(batch[0], copy) for batch, copy in kept)


def started_in(function):
    """Waits until a thread is in it."""
    while function not in runner.stacks():
        time.sleep(0.01)


def test_a_loader_is_dropped_while_its_map_runs(numbers):
    calls, go = [], threading.Event()

    def slow_one(sample):
        calls.append(sample)
        go.wait(20)
        return 0

    loader = plain(numbers, map=slow_one, batch_size=50, num_workers=2)
    iterator = iter(loader)
    started_in("slow_one")
    closer = threading.Timer(0.2, go.set)
    closer.start()
    iterator.close()
    closer.join()
    # Each thread was at one sample of its slice, and none began another.
    assert len(calls) <= 2
    assert not [t for t in threading.enumerate() if t.name.startswith("forebay-")]


def test_dropping_it_by_the_collector_too(numbers):
    calls = []

    def slow_one(sample):
        calls.append(sample)
        time.sleep(0.05)
        return 0

    loader = plain(numbers, map=slow_one, batch_size=50, num_workers=2)
    iterator = iter(loader)
    started_in("slow_one")
    gone = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert gone() is None
    assert len(calls) < 50
    assert not [t for t in threading.enumerate() if t.name.startswith("forebay-")]


def test_slow_code_is_named(numbers, monkeypatch, caplog):
    monkeypatch.setattr(runner, "REPORT_AFTER_S", 0.1)

    def dawdling(sample):
        while not any("no task has finished" in r.message for r in caplog.records):
            time.sleep(0.02)
        return 0

    next(iter(plain(numbers, map=dawdling, num_workers=1)))
    told = next(r.message for r in caplog.records if "no task has finished" in r.message)
    assert "in dawdling" in told
    assert __file__.rsplit("/", 1)[-1] in told


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("inner_threads", [0, 2])
def test_a_map_that_iterates_another_loader(numbers, threads, inner_threads):
    def inner():
        return plain(numbers, map=lambda s: fb.sample_rng().random(), num_workers=inner_threads)

    expected = torch.cat(list(inner()))

    def outer(sample):
        before = fb.sample_rng()
        first = before.random()
        within = torch.cat(list(inner()))
        assert fb.sample_rng() is before
        return {"same": torch.equal(within, expected), "draws": (first, before.random())}

    def draws(**options):
        return next(iter(plain(numbers, map=outer, batch_size=4, prefetch=1, **options)))

    batch = draws(num_workers=threads)
    assert batch["same"].all()
    alone = next(
        iter(plain(numbers, map=lambda s: fb.sample_rng().random(2), batch_size=4, prefetch=1))
    )
    assert torch.equal(torch.stack(batch["draws"], 1), alone)


def test_a_cursor_names_the_functions(numbers):
    state = plain(numbers, map=jitter, filter=keep_some).state_dict()
    assert state["map"] == f"{__name__}.jitter"
    assert state["filter"] == f"{__name__}.keep_some"
    assert not {"map", "filter"} & set(plain(numbers).state_dict())
    plain(numbers, map=jitter, filter=keep_some).load_state_dict(state)
    for name, options in (("map", {"filter": keep_some}), ("filter", {"map": jitter})):
        other = plain(numbers, **options)
        with pytest.raises(fb.errors.CursorError, match=rf"^{name}: the cursor is of a loader wit"):
            other.load_state_dict(state)
        other.load_state_dict(state, allow=[name])


def test_explain_tells_of_the_functions(numbers):
    told = plain(numbers, map=jitter, num_workers=2).explain()
    assert told.user_code == {"map": f"{__name__}.jitter"}
    assert f"map {__name__}.jitter: user code in the threads" in str(told)
    assert "holds the GIL" in str(told)
    assert "seeded for each sample" in str(plain(numbers, filter=keep_some).explain())
    assert plain(numbers).explain().user_code == {}


def test_the_door(numbers, path):
    with pytest.raises(TypeError, match="map must be a function of one sample, got 5 of type int"):
        plain(numbers, map=5)
    with pytest.raises(TypeError, match="filter must be a function of one sample"):
        plain(numbers, filter="x > 3")
    with pytest.raises(ValueError, match=r"decode\['ids'\]: Pad makes a batch"):
        make(path, map=jitter, decode={"ids": T.Pad()})
