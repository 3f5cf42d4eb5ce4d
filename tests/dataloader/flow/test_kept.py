"""Blocks that one run leaves for the next: within the budget, the first left goes first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.kept import Kept
from forebay.dataloader.flow.ticket import LoadKey


def key(block):
    return LoadKey(block)


def sound(block):
    return block != "damaged"


def test_what_is_damaged_is_not_kept():
    budget = Budget(100)
    kept = Kept(budget, sound)
    kept.leave(key(1), "damaged", 30)
    assert kept.take(key(1)) is None
    assert budget.held == 0


def test_what_was_left_is_taken_once():
    budget = Budget(100)
    kept = Kept(budget, sound)
    kept.leave(key(1), "one", 30)
    assert budget.by_account()["kept"] == 30
    assert kept.take(key(2)) is None
    assert kept.take(key(1)) == ("one", 30)
    assert kept.take(key(1)) is None
    assert budget.held == 0


def test_left_again_it_counts_once():
    budget = Budget(100)
    kept = Kept(budget, sound)
    kept.leave(key(1), "old", 30)
    kept.leave(key(1), "new", 40)
    assert budget.held == 40
    assert kept.take(key(1)) == ("new", 40)


def test_what_does_not_fit_is_dropped():
    budget = Budget(100)
    kept = Kept(budget, sound)
    budget.charge("slots", 80)
    kept.leave(key(1), "one", 30)
    assert kept.take(key(1)) is None
    assert budget.held == 80


def test_the_first_left_goes_first():
    kept = Kept(Budget(100), sound)
    for block in (3, 1, 2):
        kept.leave(key(block), block, 30)
    assert kept.trim(31) == 60
    assert [b for b in (1, 2, 3) if kept.take(key(b))] == [2]
    assert kept.trim(1) == 0


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["leave", "take", "trim"]), st.integers(0, 5), st.integers(1, 60)
        ),
        max_size=40,
    )
)
def test_its_charge_is_what_it_holds(steps):
    budget, held = Budget(100), {}
    kept = Kept(budget, sound)
    for what, block, n in steps:
        if what == "leave":
            held.pop(block, None)
            kept.leave(key(block), block, n)
            if sum(held.values()) + n <= 100:
                held[block] = n
        elif what == "take":
            n = held.pop(block, None)
            assert kept.take(key(block)) == (None if n is None else (block, n))
        else:
            freed = kept.trim(n)
            assert freed >= min(n, sum(held.values()))
            while held and freed > 0:
                freed -= held.pop(next(iter(held)))
            assert freed == 0
        assert budget.held == sum(held.values())


@pytest.mark.parametrize("order", [False, "blocks", "window", "full"])
def test_what_fits_is_read_once(labels, order):
    path = labels()
    loader = fb.DataLoader(fb.open_dataset(path), 7, order, seed=3, num_workers=2)
    epochs, read = [], []
    for _ in range(3):
        epochs.append([b["label"].tolist() for b in loader])
        read.append(loader.stats().bytes_read)
    assert read[0] == read[1] == read[2] > 0
    for epoch, got in enumerate(epochs):
        fresh = fb.DataLoader(fb.open_dataset(path), 7, order, seed=3, num_workers=0)
        fresh.set_epoch(epoch)
        assert got == [b["label"].tolist() for b in fresh]
