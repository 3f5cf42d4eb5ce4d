"""Global generators: seeded for each sample where they can be owned, then given back as they
were."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
import torch

import forebay as fb

N = 60


@pytest.fixture(scope="module")
def dataset(kit, tmp_path_factory):
    path = kit.write(
        tmp_path_factory.mktemp("generators") / "d", N, "recordio", "none", {"label": "int64"},
        block_bytes=100,
    )  # fmt: skip
    return fb.open_dataset(path, columns=["label"])


def draw(sample):
    return random.random(), random.gauss(0, 1), np.random.randn(), torch.randn(3), torch.rand(())


def loader(dataset, code=draw, **options):
    given_ = {"batch_size": 16, "shuffle": "full", "num_workers": 0, "seed": 5}
    return fb.DataLoader(dataset, map=code, **{**given_, **options})


def numbers(one):
    """{position: what was drawn} of a pass."""
    found = {}
    for batch in one:
        rows = zip(*[column.tolist() for column in batch], strict=True)
        found |= dict(zip(one.batch_info.positions.tolist(), map(repr, rows), strict=True))
    return found


def states():
    return (
        random.getstate(), repr(np.random.get_state(legacy=False)),
        torch.default_generator.get_state().tolist(), np.random.get_bit_generator(),
    )  # fmt: skip


@pytest.fixture(params=["fresh", "with numbers in store", "of another kind"])
def stirred(request):
    """The caller's generators in the midst of something."""
    theirs = np.random.get_bit_generator()
    if request.param == "of another kind":
        np.random.set_bit_generator(np.random.PCG64(3))
    if request.param != "fresh":
        random.gauss(0, 1)
        np.random.randn(3)
        torch.randn(1)
    yield
    np.random.set_bit_generator(theirs)


def test_the_callers_generators_stay_as_they_are(dataset, stirred):
    before = states()
    for _ in loader(dataset):
        assert states() == before


def test_numbers_do_not_depend_on_the_caller_batches_or_what_came_before(dataset, stirred):
    expected = numbers(loader(dataset))
    assert len(set(expected.values())) == N
    random.seed(1)
    np.random.seed(1) if isinstance(np.random.get_bit_generator(), np.random.MT19937) else None
    torch.manual_seed(1)
    assert numbers(loader(dataset, batch_size=7)) == expected
    one = loader(dataset)
    one.seek(0, 2)
    assert numbers(one) == {p: v for p, v in expected.items() if p >= 32}
    shared = {}
    for rank in range(3):
        shared |= numbers(loader(dataset, rank=rank, world_size=3))
    assert shared == expected
    assert not set(numbers(loader(dataset, seed=6)).values()) & set(expected.values())


def test_a_function_that_draws_only_now_and_then_is_exact(dataset):
    """What no look at its first samples could tell."""

    def seldom(sample):
        return (np.random.rand() if sample[0] == 37 else 0.0,)

    expected = numbers(loader(dataset, seldom))
    np.random.rand(5)
    assert numbers(loader(dataset, seldom, batch_size=9)) == expected


def test_a_function_may_seed_them_itself(dataset):
    def seeds(sample):
        np.random.seed(3)
        return (np.random.rand(),)

    assert len(set(numbers(loader(dataset, seeds)).values())) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_they_are_given_back_when_it_ends_badly(dataset, error):
    before = states()

    def ends(sample):
        np.random.rand()
        raise error

    with pytest.raises((error, fb.errors.StageFailed)):
        next(iter(loader(dataset, ends)))
    assert states() == before


def test_without_user_code_nothing_is_touched(dataset, monkeypatch):
    monkeypatch.setattr(random, "seed", None)
    monkeypatch.setattr(random, "getstate", None)
    assert len(list(fb.DataLoader(dataset, 16, num_workers=0))) == 4


@pytest.mark.parametrize(
    ("code", "named"),
    [
        (lambda s: random.random(), "generator of random in a thread"),
        (lambda s: np.random.rand(), "generator of numpy.random in a thread"),
        (lambda s: torch.rand(1) + np.random.rand(), "of numpy.random and torch in a thread"),
    ],
)
def test_drawing_from_them_in_threads_is_told_once(dataset, caplog, code, named):
    one = loader(dataset, code, num_workers=2)
    for _ in range(2):
        list(one)
    told = [r.message for r in caplog.records if "drew from the global generator" in r.message]
    assert len(told) == 1
    assert named in told[0]
    assert "forebay.sample_rng()" in told[0]
    assert "num_workers=0" in told[0]


def test_code_that_draws_from_the_sample_alone_is_not_told_of(dataset, caplog):
    for _ in loader(dataset, lambda s: fb.sample_rng().random(), num_workers=2):
        random.random()  # the loop's own numbers
        torch.rand(1)
    assert not [r for r in caplog.records if "global generator" in r.message]


def test_another_thread_than_the_main_one_does_not_own_them(dataset, caplog):
    before = states()
    moved = []

    def work():
        list(loader(dataset, lambda s: random.random()))
        moved.append(states() != before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert moved == [True]
    assert any("global generator of random" in r.message for r in caplog.records)
