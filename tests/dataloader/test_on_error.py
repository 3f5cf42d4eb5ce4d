"""Going on without what cannot be delivered, or with others: exact, named and bounded."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.errors import LoaderClosed, SampleError, StageFailed, TooManyFaults

T = fb.transforms
N = 160
BAD = frozenset((3, 40, 41, 42, 90, 159))
FIELDS = {"image": "png", "label": "int64", "ids": "uint16[*]", "text": "text", "blob": "bytes"}
DECODE = {"image": fb.Image(T.RandomResizedCrop(5), T.RandomHorizontalFlip()), "ids": T.Pad()}
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module", params=["parquet", "recordio"])
def path(request, kit, tmp_path_factory):
    """Records of which some have an image that is none, and no other fault."""
    path = tmp_path_factory.mktemp("faults") / "d"
    records = []
    for i in range(N):
        record = kit.record(i, FIELDS)
        if i in BAD:
            # Packing proves that images are of their kind, so the head is right.
            record["image"] = record["image"][:40] + bytes(60)
        records.append(record)
    fb.write_dataset(
        path, records, FIELDS, format=request.param, codec="none", block_bytes=5_000,
        shard_bytes=20_000,
    )  # fmt: skip
    return path


def make(path, on_error="skip", **options):
    dataset = fb.open_dataset(path, columns=list(FIELDS))
    given_ = {
        "batch_size": 8, "shuffle": "window", "num_workers": 0, "window_bytes": "20kB",
        "memory": "8MB", "seed": 3, "decode": DECODE,
    }  # fmt: skip
    return fb.DataLoader(dataset, on_error=on_error, **{**given_, **options})


def rows(loader, batch):
    """[(position, label, everything else)] of a batch, whose fields must all be of one length."""
    info = loader.batch_info
    image, label, ids, text, blob = batch
    lengths = info.lengths["ids"]
    assert {len(f) for f in (image, label, ids, text, blob, lengths)} == {len(info.positions)}
    return [
        (
            int(info.positions[i]),
            int(label[i]),
            (image[i].numpy().tobytes(), ids[i, : lengths[i]].tolist(), text[i], blob[i]),
        )
        for i in range(len(info.positions))
    ]


def stream(loader):
    return [row for batch in loader for row in rows(loader, batch)]


@pytest.fixture(scope="module")
def order(path):
    """The label at each position, read without the images."""
    loader = fb.DataLoader(
        fb.open_dataset(path, columns=["label"]), N, "window", seed=3, num_workers=0,
        window_bytes="20kB",
    )  # fmt: skip
    return next(iter(loader))[0].tolist()


@pytest.mark.parametrize("threads", [0, 2])
def test_skip_leaves_out_the_faulty_alone(kit, path, order, threads, tmp_path):
    file = tmp_path / "quarantine.jsonl"
    loader = make(path, num_workers=threads, quarantine=file)
    found, faults = [], []
    for step, batch in enumerate(loader):
        new, info = rows(loader, batch), loader.batch_info
        assert info.step == step
        assert len(new) == info.n == 8 - len(info.faults)
        assert info.weight == pytest.approx(info.n / info.n_global)
        planned = list(range(8 * step, 8 * step + 8))
        assert [p for p, *_ in new] == [
            p for p in planned if p not in {f.position for f in info.faults}
        ]
        assert all(planned[f.place] == f.position for f in info.faults)
        found += new
        faults += info.faults
    assert sorted(label for _, label, _ in found) == sorted(set(range(N)) - BAD)
    assert {order[f.position] for f in faults} == BAD
    assert all(f.stage == "decode" and f.replacement is None for f in faults)
    for position, label, (_, ids, text, blob) in found:
        record = kit.record(label, FIELDS)
        assert order[position] == label
        assert (ids, text, blob) == (record["ids"].tolist(), record["text"], record["blob"])
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["position"] for line in lines} == {f.position for f in faults}
    dataset = fb.open_dataset(path)
    for line in lines:
        first = sum(
            e.records for e in (dataset.table.entry(s) for s in range(len(dataset.table)))
            if e.file < line["shard"]
        )  # fmt: skip
        assert first + line["record"] == order[line["position"]]
        assert line["stage"] == "decode"
        assert line["action"] == "left out"
        assert "DecodeError" in line["cause"]
        assert set(line) == {
            "epoch", "step", "position", "rank", "shard", "record", "stage", "cause", "action",
        }  # fmt: skip


def test_replace_fills_every_batch_with_whole_records(kit, path, order, tmp_path):
    file = tmp_path / "quarantine.jsonl"
    loader = make(path, "replace", quarantine=file)
    found = stream(loader)
    assert [p for p, *_ in found] == list(range(N))
    replaced = {p: label for p, label, _ in found if order[p] != label}
    assert {order[p] for p in replaced} == BAD
    assert not BAD & set(replaced.values())
    for _, label, (_, ids, text, blob) in found:
        record = kit.record(label, FIELDS)
        assert (ids, text, blob) == (record["ids"].tolist(), record["text"], record["blob"])
    dataset = fb.open_dataset(path)
    for line in map(json.loads, file.read_text().splitlines()):
        assert line["action"] == "replaced"
        # From its own block, which has good rows.
        first = [
            sum(dataset.table.entry(s).records for s in range(int(shard[6:11])))
            for shard in (line["shard"], line["by"]["shard"])
        ]
        numbers = first[0] + line["record"], first[1] + line["by"]["record"]
        assert numbers == (order[line["position"]], replaced[line["position"]])
        blocks = np.searchsorted(dataset.blocks.first_row, numbers, side="right")
        assert blocks[0] == blocks[1]


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_threads_memory_batches_and_ranks_change_nothing(path, on_error):
    expected = stream(make(path, on_error))
    for options in (
        {"num_workers": 3, "prefetch": 7},
        {"num_workers": 1, "memory": "1MB", "batch_size": 5},
        {"shuffle": "window", "batch_size": N},
    ):
        assert stream(make(path, on_error, **options)) == expected
    shared = [
        row for rank in range(3)
        for row in stream(make(path, on_error, rank=rank, world_size=3, uneven="drop"))
    ]  # fmt: skip
    assert {r[0]: r for r in shared} == {r[0]: r for r in expected if r[0] < 24 * (N // 24)}


@settings(max_examples=25, deadline=None)
@given(
    on_error=st.sampled_from(["skip", "replace"]),
    legs=st.lists(
        st.tuples(
            st.sampled_from([1, 2, 3]), st.integers(0, 6), st.integers(1, 30),
            st.sampled_from([0, 2]), st.sampled_from(["1MB", "8MB"]),
        ),
        min_size=1, max_size=3,
    ),
)  # fmt: skip
def test_legs_are_one_epoch_with_faults_too(path, on_error, legs):
    expected = {row[0]: row for row in stream(make(path, on_error))}
    state, found = None, {}
    for size, steps, batch_size, threads, memory in [*legs, (*legs[-1][:1], 10**6, *legs[-1][2:])]:
        loaders = [
            make(
                path, on_error, rank=r, world_size=size, batch_size=batch_size,
                num_workers=threads, memory=memory,
            )
            for r in range(size)
        ]  # fmt: skip
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(state)
        if loaders[0].position.epoch:
            break
        for _, *batches in zip(range(steps), *loaders, strict=False):
            for loader, batch in zip(loaders, batches, strict=True):
                for row in rows(loader, batch)[: loader.batch_info.n]:
                    assert row[0] not in found
                    found[row[0]] = row
        states = {json.dumps(loader.state_dict()) for loader in loaders}
        assert len(states) == 1
        state = json.loads(states.pop())
    assert found == expected


def test_a_batch_of_faults_alone_is_empty_and_has_its_shape(kit, tmp_path):
    records = [
        {**kit.record(i, FIELDS), "image": kit.picture(i)[:40] + bytes(60)} for i in range(4)
    ]
    records += [kit.record(i, FIELDS) for i in range(4, 8)]
    fb.write_dataset(tmp_path / "d", records, FIELDS)
    loader = make(tmp_path / "d", batch_size=4, shuffle=False, max_errors=1.0)
    first, second = list(loader)
    assert first[0].shape == (0, 3, 5, 5)
    assert first[2].shape[0] == 0
    assert first[3] == []
    assert second[1].tolist() == [4, 5, 6, 7]
    first = next(iter(loader))
    info = loader.batch_info
    assert (info.n, info.weight, len(info.faults)) == (0, 0.0, 4)


def test_a_longer_record_stands_in_for_a_padded_one(tmp_path, kit):
    # The only good record of the block is longer than all others.
    fields = {"image": "png", "ids": "int32[*]"}
    for side in ("right", "left"):
        records = [
            {"image": kit.picture(i) if i == 5 else kit.picture(i)[:40] + bytes(60),
             "ids": np.arange(1, 10 if i == 5 else 3)}
            for i in range(6)
        ]  # fmt: skip
        fb.write_dataset(tmp_path / side, records, fields)
        loader = fb.DataLoader(
            fb.open_dataset(tmp_path / side), 3, num_workers=0, on_error="replace",
            decode={"image": fb.Image(T.CenterCrop(4)), "ids": T.Pad(-1, side=side)},
        )  # fmt: skip
        for batch in loader:
            assert batch["ids"].tolist() == [list(range(1, 10))] * 3
            assert loader.batch_info.lengths["ids"].tolist() == [9] * 3


def flip(file, offset):
    with open(file, "r+b") as f:
        f.seek(offset)
        byte = f.read(1)[0]
        f.seek(offset)
        f.write(bytes([byte ^ 0x10]))


@pytest.mark.parametrize("on_error", ["skip", "replace"])
@pytest.mark.parametrize("memory", ["100kB", "8MB"])
@pytest.mark.parametrize("shuffle", [False, "window", "full"])
@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_damaged_blocks(labels, tmp_path, format, shuffle, memory, on_error, kit):
    path = kit.write(
        tmp_path / "d", 400, format, "none", {"label": "int64", "blob": "bytes"},
        block_bytes=600, shard_bytes=3_000,
    )  # fmt: skip
    dataset = fb.open_dataset(path)
    entry = dataset.table.entry(1)
    first = dataset.table.entry(0).records
    flip(os.path.join(dataset.name, entry.file), int(entry.block_bytes[0]) + 40)
    inside = range(first + int(entry.block_rows[0]), first + int(sum(entry.block_rows[:2])))

    def labels_of(**options):
        loader = fb.DataLoader(
            dataset, 8, shuffle, num_workers=2, window_bytes="2kB", memory=memory, seed=1,
            on_error=on_error, **options,
        )  # fmt: skip
        found = {}
        for batch in loader:
            info = loader.batch_info
            found |= dict(zip(info.positions.tolist(), batch["label"].tolist(), strict=True))
            assert all(f.stage == "fetch" for f in info.faults)
        return found

    found = labels_of(max_errors=50)
    lost = set(range(400)) - set(found.values())
    assert lost
    assert lost <= set(inside)
    assert len(lost) == (1 if format == "recordio" else len(inside))
    if on_error == "skip":
        assert len(found) == 400 - len(lost)
    else:
        assert sorted(found) == list(range(400))
    assert labels_of(max_errors=50) == found


def test_too_many_faults_raise_and_close(path, tmp_path):
    file = tmp_path / "q"
    loader = make(path, max_errors=2, num_workers=2, quarantine=file)
    iterator = iter(loader)
    with pytest.raises(TooManyFaults, match="more than max_errors=2; the last: ") as caught:
        list(iterator)
    assert isinstance(caught.value.__cause__, fb.errors.DecodeError)
    assert len(file.read_text().splitlines()) >= 3
    with pytest.raises(LoaderClosed, match="start a new one"):
        next(iterator)
    # A new pass counts anew.
    assert len(list(make(path, max_errors=6))) == 20
    assert len(list(make(path, max_errors=0.05))) == 20
    with pytest.raises(TooManyFaults):
        list(make(path, max_errors=0.03))


def test_raise_names_the_first_as_ever(path):
    with pytest.raises(SampleError):
        list(make(path, "raise"))


def test_without_a_file_the_log_names_them(path, caplog):
    assert len(stream(make(path))) == N - len(BAD)
    named = [r.message for r in caplog.records if "could not be delivered" in r.message]
    assert len(named) == len(BAD)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_file_that_takes_nothing_ends_the_run(path):
    with pytest.raises(StageFailed, match="quarantine file '/dev/full' cannot be written"):
        list(make(path, quarantine="/dev/full"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"on_error": "ignore"}, ValueError, "on_error must be one of"),
        ({"on_error": "raise", "max_errors": 3}, ValueError, 'go with on_error="skip"'),
        ({"max_errors": -1}, ValueError, "max_errors must be an int of at least 0"),
        ({"max_errors": 1.5}, ValueError, "max_errors as a share must be from 0.0 to 1.0"),
        ({"max_errors": "3"}, TypeError, "max_errors must be an int"),
        ({"quarantine": 7}, TypeError, "quarantine must be a path, got int"),
        ({"quarantine": "/nowhere/at/all"}, ValueError, "quarantine: /nowhere/at/all cannot be"),
    ],
)
def test_what_the_door_refuses(path, options, error, message):
    with pytest.raises(error, match=message):
        make(path, **options)


def test_batches_with_faults_share_no_memory_with_others(path):
    loader = make(path, num_workers=2, prefetch=6)
    kept = [(rows(loader, batch), batch, loader.batch_info) for batch in loader]
    for before, batch, info in kept:
        image, label, *_ = batch
        assert [r[1] for r in before] == label.tolist()
        assert torch.is_tensor(image)
        assert len(image) == info.n
