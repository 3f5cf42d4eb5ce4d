"""The cursor: what stops and goes on, on any ranks, threads and memory, is one stream."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.cursor import Position, decode_digest

T = fb.transforms
N = 100
FIELDS = {"image": "png", "label": "int64", "ids": "uint16[*]"}
DECODE = {"image": fb.Image(T.RandomResizedCrop(5), T.RandomHorizontalFlip()), "ids": T.Pad()}
ORDERS = (False, "blocks", "window", "full")


@pytest.fixture(scope="module", params=["parquet", "recordio"])
def path(request, kit, tmp_path_factory):
    return kit.write(
        tmp_path_factory.mktemp("cursor") / "d", N, request.param, "none", FIELDS,
        block_bytes=3_000, shard_bytes=12_000,
    )  # fmt: skip


def make(path, shuffle="window", batch_size=8, **options):
    dataset = fb.open_dataset(path, columns=list(FIELDS))
    given_ = {
        "num_workers": 0, "window_bytes": "20kB", "memory": "8MB", "seed": 3, "decode": DECODE,
    }  # fmt: skip
    return fb.DataLoader(dataset, batch_size, shuffle, **{**given_, **options})


def world(path, size, **options):
    """The loaders of all ranks, which one process can well hold."""
    return [make(path, rank=r, world_size=size, **options) for r in range(size)]


def taken(loader, batch):
    """{(epoch, position): the sample with every pixel} of what counts in a batch."""
    info, (image, label, ids) = loader.batch_info, batch
    lengths = info.lengths["ids"]
    return {
        (info.epoch, int(info.positions[i])): (
            int(label[i]),
            image[i].numpy().tobytes(),
            ids[i, : lengths[i]].tolist(),
        )
        for i in range(info.n)
    }


def rest(loaders, steps=None):
    """The samples of the next steps of all ranks in step, to the epoch's end without a number."""
    found = {}
    iterators = [iter(loader) for loader in loaders]
    done = 0
    while steps is None or done < steps:
        batches = [next(iterator, None) for iterator in iterators]
        over = {batch is None for batch in batches}
        assert len(over) == 1, "one rank has more batches than another"
        if over == {True}:
            break
        for loader, batch in zip(loaders, batches, strict=True):
            new = taken(loader, batch)
            assert not found.keys() & new.keys(), "a sample came twice"
            found |= new
        done += 1
    states = [json.dumps(loader.state_dict()) for loader in loaders]
    assert len(set(states)) == 1, "cursors of the ranks differ"
    assert len(states[0]) < 4096
    for iterator in iterators:
        iterator.close()
    return found, states[0]


@pytest.fixture(scope="module")
def whole(path):
    """whole(shuffle, epoch): the uninterrupted epoch of one rank."""
    found = {}

    def one(shuffle, epoch):
        if (shuffle, epoch) not in found:
            loader = make(path, shuffle)
            loader.set_epoch(epoch)
            found[shuffle, epoch] = rest([loader])[0]
            assert sorted(p for _, p in found[shuffle, epoch]) == list(range(N))
            assert len({s[0] for s in found[shuffle, epoch].values()}) == N
        return found[shuffle, epoch]

    return one


LEGS = st.lists(
    st.fixed_dictionaries(
        {
            "size": st.sampled_from([1, 2, 3, 4, 8]),
            "steps": st.integers(0, 7),
            "options": st.fixed_dictionaries(
                {
                    "batch_size": st.integers(1, 9),
                    "num_workers": st.sampled_from([0, 0, 1, 2, 4]),
                    "prefetch": st.integers(1, 5),
                    "memory": st.sampled_from(["1MB", "8MB", "1GB"]),
                    "uneven": st.sampled_from(["pad", "wrap"]),
                }
            ),
        }
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40, deadline=None)
@given(shuffle=st.sampled_from(ORDERS), epoch=st.integers(0, 2), legs=LEGS)
def test_legs_on_any_ranks_threads_and_batches_are_one_epoch(path, whole, shuffle, epoch, legs):
    state, found = None, {}
    for leg in [*legs, {**legs[-1], "steps": None}]:
        loaders = world(path, leg["size"], shuffle=shuffle, **leg["options"])
        for loader in loaders:
            if state is None:
                loader.set_epoch(epoch)
            else:
                loader.load_state_dict(json.loads(state))
        if loaders[0].position.epoch != epoch:
            break
        new, state = rest(loaders, leg["steps"])
        assert not found.keys() & new.keys(), "a sample came again after a resume"
        found |= new
    assert found == whole(shuffle, epoch)
    assert json.loads(state)["epoch"] == epoch + 1


SHAPES = st.sampled_from(
    [(1, 10_000), (2, 100), (3, 100), (7, 3_000), (31, 400), (64, 100), (90, 900), (150, 100_000)]
)


@pytest.fixture(scope="module")
def shaped(kit, tmp_path_factory):
    """shaped(format, (records, bytes of a block)): the folder of such a dataset."""
    made = {}

    def make_one(format, shape):
        if (format, shape) not in made:
            n, block_bytes = shape
            made[format, shape] = kit.write(
                tmp_path_factory.mktemp("shaped") / "d", n, format, "none", FIELDS,
                block_bytes=block_bytes, shard_bytes=4 * block_bytes,
            )  # fmt: skip
        return made[format, shape]

    return make_one


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shape=SHAPES,
    format=st.sampled_from(["parquet", "recordio"]),
    shuffle=st.sampled_from(ORDERS),
    seed=st.integers(0, 2**64 - 1),
    epoch=st.integers(0, 2**64 - 2),
    window_bytes=st.sampled_from(["1kB", "20kB", "1MB"]),
    legs=LEGS,
)
def test_so_are_they_of_any_dataset(
    shaped, shape, format, shuffle, seed, epoch, window_bytes, legs
):
    path = shaped(format, shape)
    options = {"shuffle": shuffle, "seed": seed, "window_bytes": window_bytes}
    alone = make(path, **options)
    alone.set_epoch(epoch)
    expected, end = rest([alone])
    assert sorted(p for _, p in expected) == list(range(shape[0]))
    assert len({label for label, *_ in expected.values()}) == shape[0]
    state, found = None, {}
    for leg in [*legs, {**legs[-1], "steps": None}]:
        loaders = world(path, leg["size"], **options, **leg["options"])
        for loader in loaders:
            if state is None:
                loader.set_epoch(epoch)
            else:
                loader.load_state_dict(json.loads(state))
        if loaders[0].position.epoch != epoch:
            break
        new, state = rest(loaders, leg["steps"])
        assert not found.keys() & new.keys(), "a sample came again after a resume"
        found |= new
    assert found == expected
    assert json.loads(state)["position"] == 0
    assert json.loads(state)["epoch"] == json.loads(end)["epoch"] == epoch + 1


def test_a_resume_at_every_batch(path, whole):
    expected = whole("window", 0)
    for step in range(14):
        found, state = rest([make(path)], step)
        again = make(path)
        again.load_state_dict(json.loads(state))
        assert again.position == (Position(0, step, 8 * step) if step < 13 else Position(1, 0, 0))
        if step < 13:
            found |= rest([again])[0]
        assert found == expected


def test_a_resume_twice_in_one_epoch_and_into_the_next(path, whole):
    found, state = rest([make(path)], 3)
    for _ in range(2):
        loader = make(path)
        loader.load_state_dict(json.loads(state))
        more, state = rest([loader], 4)
        found |= more
    loader = make(path)
    loader.load_state_dict(json.loads(state))
    found |= rest([loader])[0]
    assert found == whole("window", 0)
    # The loader goes on by itself.
    assert loader.epoch == 1
    assert rest([loader])[0] == whole("window", 1)


def test_loading_in_the_midst_of_a_pass_applies_at_once(path, whole):
    source = make(path)
    _, state = rest([source], 5)
    loader = make(path, num_workers=2)
    iterator = iter(loader)
    first = next(iterator)
    assert loader.batch_info.step == 0
    loader.load_state_dict(json.loads(state))
    assert loader.position == Position(0, 5, 40)
    found = {}
    for batch in iterator:
        found |= taken(loader, batch)
    assert found == {k: v for k, v in whole("window", 0).items() if k[1] >= 40}
    assert len(first[1]) == 8
    # The pass is over: a position set now is for the next one.
    loader.seek(0, 12)
    assert next(iterator, None) is None
    assert len(rest([loader])[0]) == N - 12 * 8


def test_a_pass_or_iter_whichever_comes_first_takes_the_position(path):
    loader = make(path)
    old = iter(loader)
    next(old)
    loader.seek(4, 2)
    new = iter(loader)
    next(new)
    assert (loader.batch_info.epoch, loader.batch_info.step) == (4, 2)
    next(old)
    assert (loader.batch_info.epoch, loader.batch_info.step) == (0, 1)


def test_positions(path):
    loader = make(path)
    assert loader.position == Position(0, 0, 0)
    for n, _ in enumerate(loader, 1):
        assert loader.position == (Position(0, n, 8 * n) if n < 13 else Position(1, 0, 0))
    loader.set_epoch(7)
    assert loader.position == Position(7, 0, 0)
    assert loader.epoch == 7
    loader.seek(9, 13)
    assert loader.position == Position(10, 0, 0)
    loader.seek(9, 12)
    assert loader.position == Position(9, 12, 96)
    assert [len(b[1]) for b in loader] == [4]
    with pytest.raises(ValueError, match="step must be an int from 0 to 13, got 14"):
        loader.seek(9, 14)
    with pytest.raises(TypeError, match="epoch must be an int, got '9'"):
        loader.seek("9")


def test_a_loop_over_epochs_goes_on_from_a_cursor(path, whole):
    found, state = rest([make(path)], 6)
    loader = make(path)
    loader.load_state_dict(json.loads(state))
    for epoch in range(loader.epoch, 2):
        loader.set_epoch(epoch)
        for batch in loader:
            found |= taken(loader, batch)
    assert found == whole("window", 0) | whole("window", 1)
    loader.load_state_dict(json.loads(state))
    loader.set_epoch(5)
    assert loader.position == Position(5, 0, 0)


def test_a_break_leaves_the_position_and_the_next_iter_begins_the_next_epoch(path, whole):
    loader = make(path)
    for n, _ in enumerate(loader):
        if n == 2:
            break
    assert loader.position == Position(0, 3, 24)
    state = loader.state_dict()
    assert rest([loader])[0] == whole("window", 1)
    loader.load_state_dict(state)
    assert rest([loader])[0] == {k: v for k, v in whole("window", 0).items() if k[1] >= 24}


def test_drop_leaves_out_what_is_short_wherever_it_goes_on(path):
    loader = make(path, drop_last=True)
    assert len(loader) == 12
    assert len(rest([loader])[0]) == 96
    loader.seek(0, 5)
    state = loader.state_dict()
    other = make(path, batch_size=50, drop_last=True)
    other.load_state_dict(state)
    assert sorted(p for _, p in rest([other])[0]) == list(range(40, 90))
    assert other.position == Position(1, 0, 0)


def test_repeats_are_marked_and_weights_make_the_mean(path, whole):
    loaders = world(path, 3, batch_size=7)
    assert {len(loader) for loader in loaders} == {5}
    iterators = [iter(loader) for loader in loaders]
    for _ in range(5):
        batches = [next(iterator) for iterator in iterators]
        infos = [loader.batch_info for loader in loaders]
        means = [b[1][: i.n].double().mean() for b, i in zip(batches, infos, strict=True)]
        mean = sum(i.weight * m for i, m in zip(infos, means, strict=True)) / 3
        every = np.concatenate([b[1][: i.n] for b, i in zip(batches, infos, strict=True)])
        assert mean == pytest.approx(every.mean())
    # 100 = 4 * 21 + 16, and 16 of three ranks are 6 + 5 + 5.
    assert [(i.n, len(i.positions), i.n_global) for i in infos] == [
        (6, 6, 16), (5, 6, 16), (5, 6, 16),
    ]  # fmt: skip
    again = {int(p) for i in infos for p in i.positions[i.n :]}
    assert again == {0, 1}
    for batch, info in zip(batches, infos, strict=True):
        for place in range(info.n, len(info.positions)):
            label, pixels, _ = whole("window", 0)[0, int(info.positions[place])]
            assert int(batch[1][place]) == label
            assert batch[0][place].numpy().tobytes() == pixels


@pytest.mark.parametrize("size", [2, 5])
def test_a_global_batch_is_shared_by_ranks_whatever_their_number(path, size):
    loaders = world(path, size, batch_size=1, global_batch_size=12)
    assert {len(loader) for loader in loaders} == {9}
    iterators = [iter(loader) for loader in loaders]
    for batches in zip(*iterators, strict=True):
        infos = [loader.batch_info for loader in loaders]
        assert sum(i.n for i in infos) == infos[0].n_global
        if infos[0].step < 8:
            assert infos[0].n_global == 12
            assert {len(b[1]) for b in batches} <= {12 // size, -(-12 // size)}


class Counter:
    def __init__(self, n=0):
        self.n = n

    def state_dict(self):
        return {"n": self.n}

    def load_state_dict(self, state):
        self.n = state["n"]


def test_what_is_attached_travels_with_the_cursor(path):
    loader = make(path)
    bare = loader.state_dict()
    loader.attach("ledger", Counter(41))
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["attached"] == {"ledger": {"n": 41}}
    assert {k: v for k, v in state.items() if k != "attached"} == bare
    counter = Counter()
    other = make(path)
    with pytest.raises(fb.errors.CursorError, match=r"attached: the cursor has \['ledger'\]"):
        other.load_state_dict(state)
    other.attach("ledger", counter)
    with pytest.raises(fb.errors.CursorError, match="attached: the cursor has"):
        other.load_state_dict(bare)
    other.load_state_dict(state)
    assert counter.n == 41
    with pytest.raises(ValueError, match="the name is taken"):
        other.attach("ledger", counter)
    with pytest.raises(TypeError, match="needs state_dict"):
        other.attach("nothing", 7)


def without(name):
    def spoil(state):
        del state[name]

    return spoil


def with_(name, value):
    def spoil(state):
        state[name] = value

    return spoil


def in_plan(name, value):
    def spoil(state):
        state["plan"][name] = value

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (without("forebay_cursor"), "this is no cursor of a forebay loader"),
        (without("epoch"), "the cursor lacks epoch"),
        (without("plan"), "the cursor lacks plan"),
        (with_("forebay_cursor", 2), "cursor of version 2; this forebay reads 1"),
        (with_("fingerprint", "0" * 64), "fingerprint: the cursor is of other data"),
        (with_("fingerprint", None), "fingerprint: the cursor is of other data"),
        (with_("plan", 3), "plan: expected a dict, got 3"),
        (in_plan("order", "full"), "plan.order: the cursor's order has 'full'"),
        (in_plan("lanes", 7), "plan.lanes: the cursor's order has 7"),
        (in_plan("extra", 1), "plan.extra: the cursor's order has 1, this loader's None"),
        (with_("seed", 4), "seed: the cursor's is 4, this loader's 3"),
        (with_("decode", "00"), "decode: the cursor is of a loader with other columns"),
        (with_("epoch", -1), "epoch: expected an int from 0"),
        (with_("epoch", 2**64), "epoch: expected an int from 0"),
        (with_("position", 101), "position: expected an int from 0 to 100, got 101"),
        (with_("position", 1.0), "position: expected an int"),
        (with_("step", True), "step: expected an int"),
        (with_("step", 99), "step 99 lies beyond its position 40"),
    ],
)
def test_a_damaged_or_foreign_cursor_is_named_and_changes_nothing(path, spoil, message):
    loader = make(path)
    loader.seek(0, 5)
    state = loader.state_dict()
    bad = copy.deepcopy(state)
    spoil(bad)
    loader.seek(2, 1)
    with pytest.raises(fb.errors.CursorError, match=message) as caught:
        loader.load_state_dict(bad)
    assert isinstance(caught.value, ValueError)
    assert loader.position == Position(2, 1, 8)


@pytest.mark.parametrize("state", [None, 5, "{}", [], {}, {"epoch": 0}])
def test_what_is_no_cursor_is_refused(path, state):
    with pytest.raises(fb.errors.CursorError, match="this is no cursor of a forebay loader"):
        make(path).load_state_dict(state)


def test_other_transforms_go_on_only_when_allowed(path):
    state = make(path).state_dict()
    other = make(path, decode={"image": fb.Image(T.CenterCrop(5))})
    with pytest.raises(fb.errors.CursorError, match=r'allow=\["decode"\]'):
        other.load_state_dict(state)
    other.load_state_dict(state, allow=["decode"])
    with pytest.raises(ValueError, match=r"allow may name .*'decode'.*, got \['seed'\]"):
        other.load_state_dict(state, allow=["seed"])


def test_decode_digests_are_for_ever():
    image = fb.Image(T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize(*T.IMAGENET))
    decode = {"image": image, "ids": T.Pad()}
    assert decode_digest(None, {}) == "83431027408a4bdcfc145f995064d349"
    assert decode_digest(("image", "ids"), decode) == "c21bddc1ddd0762c571f347ab34e18b4"
    assert decode_digest(("ids", "image"), decode) != decode_digest(("image", "ids"), decode)


def test_an_empty_dataset_has_a_cursor_too(kit, tmp_path):
    path = kit.write(tmp_path / "d", 0, fields=FIELDS)
    for loader in world(path, 2):
        assert list(loader) == []
        loader.load_state_dict(loader.state_dict())
        assert list(loader) == []
