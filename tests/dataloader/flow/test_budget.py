"""The byte budget: what is charged is counted, by room, once."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.flow.budget import Budget

ROOMS = ("fetch", "blocks", "slots", "pool")


def test_a_charge_that_does_not_fit_changes_nothing():
    budget = Budget(100)
    assert budget.try_charge("slots", 60)
    assert not budget.try_charge("fetch", 41)
    assert budget.held == budget.peak == 60
    assert budget.try_charge("fetch", 40)
    assert budget.held == 100
    assert budget.overdrawn == 0


def test_a_forced_charge_goes_beyond_the_limit_and_is_told():
    budget = Budget(100)
    budget.charge("slots", 70)
    assert budget.overdrawn == 0
    budget.charge("blocks", 70)
    assert (budget.held, budget.peak, budget.overdrawn) == (140, 140, 40)
    budget.release("blocks", 70)
    budget.charge("blocks", 35)
    assert (budget.held, budget.peak, budget.overdrawn) == (105, 140, 40)


def test_no_account_gives_back_more_than_it_holds():
    budget = Budget(100)
    budget.charge("slots", 50)
    budget.charge("pool", 50)
    with pytest.raises(ValueError, match="account slots holds 50 bytes, not 51"):
        budget.release("slots", 51)
    with pytest.raises(ValueError, match="account fetch holds 0 bytes, not 1"):
        budget.release("fetch", 1)
    assert budget.held == 100


def test_move_keeps_the_sum():
    budget = Budget(100)
    budget.charge("slots", 50)
    budget.move("slots", "blocks", 20)
    assert budget.held == 50
    assert budget.by_account() == {"slots": 30, "blocks": 20}
    budget.release("blocks", 20)
    assert budget.held == 30


@settings(max_examples=200, deadline=None)
@given(
    limit=st.integers(1, 500),
    steps=st.lists(
        st.tuples(st.sampled_from(["try", "charge", "release", "hold", "try hold"]),
                  st.sampled_from(ROOMS),
                  st.integers(0, 200)),
        max_size=40,
    ),
)  # fmt: skip
def test_any_run_of_charges_is_counted_as_on_paper(limit, steps):
    budget, held, peak, over = Budget(limit), dict.fromkeys(ROOMS, 0), 0, 0
    for what, room, n in steps:
        total = sum(held.values())
        if what == "release":
            n = min(n, held[room])
            budget.release(room, n)
            held[room] -= n
        elif what == "charge":
            budget.charge(room, n)
            held[room] += n
            over = max(over, total + n - limit)
        elif what == "hold":
            budget.hold(room, n)
            over = max(over, total - held[room] + n - limit)
            held[room] = n
        elif what == "try hold":
            fits = total - held[room] + n <= limit
            assert budget.try_hold(room, n) == fits
            held[room] = n if fits else held[room]
        else:
            assert budget.try_charge(room, n) == (total + n <= limit)
            held[room] += n if total + n <= limit else 0
        peak = max(peak, sum(held.values()))
    assert budget.held == sum(held.values())
    assert {k: v for k, v in budget.by_account().items() if v} == {
        k: v for k, v in held.items() if v
    }
    assert (budget.peak, budget.overdrawn) == (peak, over)


def test_many_threads_never_pass_the_limit():
    budget = Budget(100)
    granted = []

    def work():
        for _ in range(2000):
            if budget.try_charge("slots", 30):
                granted.append(budget.held)
                budget.release("slots", 30)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert granted
    assert max(granted) <= 90
    assert budget.peak <= 90
    assert budget.held == 0


def test_a_lease_shares_the_limit_and_ends_with_all_it_holds():
    budget = Budget(100)
    budget.charge("indexes", 10)
    one, two = budget.lease(), budget.lease()
    assert one.try_charge("slots", 50)
    assert not two.try_charge("slots", 41)
    assert two.try_charge("blocks", 40)
    assert (budget.held, budget.peak) == (100, 100)
    assert budget.by_account() == {"indexes": 10, "slots": 50, "blocks": 40}
    one.close()
    assert budget.held == 50
    one.charge("slots", 7)
    one.release("slots", 7)
    assert budget.held == 50
    del two
    assert budget.by_account() == {"indexes": 10}
    assert budget.peak == 100
    third = budget.lease()
    third.charge("slots", 95)
    assert budget.overdrawn == 5
