"""Tickets: the order cut into batches, with what may be forgotten after each."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.batch.fixed import Fixed
from forebay.dataloader.flow.ranks import ALONE, Ranks
from forebay.dataloader.flow.ticket import Part
from forebay.dataloader.plan.epoch import EpochPlan, PlanSettings
from forebay.dataloader.plan.window import WindowShape

ORDERS = ("sequential", "blocks", "window", "full")
KNOWN = ("sequential", "blocks", "window")


def plan(rows, order, shape=(3, 2), by_record=False, seed=5):
    first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
    return PlanSettings(first_row, order, seed, WindowShape(*shape), by_record)


def tickets(settings_, n=7, uneven="pad", epoch=0, position=0, step=0, ranks=ALONE, together=1):
    plan_ = EpochPlan(settings_, Fixed(n, uneven), epoch, ranks, together)
    return list(plan_.tickets(position, step))


def batches(cut):
    """(step, positions that count, those that come again, of all ranks, after) of each batch."""
    return [
        (p.step, t.positions[p.first : p.stop - p.repeats].tolist(),
         t.positions[p.stop - p.repeats : p.stop].tolist(), p.n_global, p.after)
        for t in cut for p in t.parts
    ]  # fmt: skip


ROWS = st.lists(st.integers(0, 9), max_size=30)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 5))


@settings(max_examples=80, deadline=None)
@given(
    rows=ROWS,
    order=st.sampled_from(ORDERS),
    shape=SHAPES,
    n=st.integers(1, 50),
    uneven=st.sampled_from(["pad", "wrap", "drop"]),
    epoch=st.integers(0, 3),
)
def test_tickets_are_the_order_cut(rows, order, shape, n, uneven, epoch):
    settings_ = plan(rows, order, shape)
    cut = tickets(settings_, n, uneven, epoch)
    total = settings_.total // n * n if uneven == "drop" else settings_.total
    repeats = -total % n if uneven == "wrap" else 0
    assert [t.step for t in cut] == list(range(len(cut)))
    assert {t.epoch for t in cut} <= {epoch}
    assert [len(t) for t in cut[:-1]] == [n] * (len(cut) - 1)
    assert all(len(t) == len(t.blocks) == len(t.rows) for t in cut)
    assert all(t.parts == (Part(t.step, 0, len(t), 0, len(t), (t.step + 1) * n),) for t in cut[:-1])
    for t in cut[-1:]:
        real = len(t) - repeats
        assert t.parts == (Part(t.step, 0, len(t), repeats, real, total),)
    order_of = [p % settings_.total for p in range(total + repeats)]
    assert [int(p) for t in cut for p in t.positions] == order_of
    blocks, rows_ = settings_.order_of(epoch).locate(np.array(order_of, np.int64))
    assert [int(b) for t in cut for b in t.blocks] == blocks.tolist()
    assert [int(r) for t in cut for r in t.rows] == rows_.tolist()


@pytest.mark.parametrize("n", [7, 4096, 9001, 30_000])
@pytest.mark.parametrize("order", ORDERS)
def test_locating_ahead_changes_nothing(order, n):
    settings_ = plan([100] * 250 + [11], order)
    cut = tickets(settings_, n)
    blocks, rows = settings_.order_of(0).locate(np.arange(settings_.total, dtype=np.int64))
    assert np.concatenate([t.blocks for t in cut]).tolist() == blocks.tolist()
    assert np.concatenate([t.rows for t in cut]).tolist() == rows.tolist()


@settings(max_examples=100, deadline=None)
@given(
    rows=ROWS,
    order=st.sampled_from(KNOWN),
    shape=SHAPES,
    n=st.integers(1, 40),
    seed=st.integers(0, 50),
)
def test_each_block_is_told_once_when_no_later_ticket_needs_it(rows, order, shape, n, seed):
    cut = tickets(plan(rows, order, shape, seed=seed), n)
    needed = [set(t.blocks.tolist()) for t in cut]
    told = [(b, s) for s, t in enumerate(cut) for b in t.last_use]
    assert sorted(b for b, _ in told) == [b for b, k in enumerate(rows) if k]
    for block, step in told:
        assert all(block not in later for later in needed[step + 1 :])


@settings(max_examples=100, deadline=None)
@given(
    rows=ROWS,
    order=st.sampled_from(KNOWN),
    shape=SHAPES,
    n=st.integers(1, 40),
    seed=st.integers(0, 50),
)
def test_a_spare_block_is_needed_again_but_not_before_its_next_use(rows, order, shape, n, seed):
    settings_ = plan(rows, order, shape, seed=seed)
    cut = tickets(settings_, n)
    uses = settings_.order_of(0).uses(ALONE)
    last = {b: s for s, t in enumerate(cut) for b in t.last_use}
    spared = [(b, s) for s, t in enumerate(cut) for b in t.spare]
    if order != "window":
        assert not spared
    assert len(spared) == len(uses.blocks) - len(set(uses.blocks.tolist()))
    for block, step in spared:
        assert last[block] >= step
        ends = int(cut[step].positions[-1])
        begins = [int(f) for b, f in zip(uses.blocks, uses.first, strict=True) if b == block]
        again = [f for f in begins if f > int(cut[step].positions[0])]
        assert again, "told as spare, but there is no further use"
        for ticket in cut[step + 1 :]:
            if block in ticket.blocks:
                assert int(ticket.positions[-1]) >= min(again)
                assert min(again) > ends or int(ticket.positions[0]) > ends
                break


@pytest.mark.parametrize("order", ["sequential", "blocks"])
def test_a_block_is_told_by_the_ticket_that_holds_its_last_row(order):
    rows = [4, 0, 9, 1, 7, 3]
    cut = tickets(plan(rows, order), 5)
    for block in (0, 2, 3, 4, 5):
        held = [s for s, t in enumerate(cut) if block in t.blocks]
        assert [s for s, t in enumerate(cut) if block in t.last_use] == [held[-1]]


@pytest.mark.parametrize("by_record", [False, True])
def test_full_order_tells_no_last_use(by_record):
    settings_ = plan([5] * 10, "full", by_record=by_record)
    cut = tickets(settings_)
    assert not any(t.last_use or t.spare for t in cut)
    assert {t.by_record for t in cut} == {by_record}
    assert EpochPlan(settings_, Fixed(3), 0).keep_for_later
    assert not EpochPlan(plan([5], "window"), Fixed(3), 0).keep_for_later


@settings(max_examples=120, deadline=None)
@given(
    rows=ROWS.filter(any),
    order=st.sampled_from(ORDERS),
    shape=SHAPES,
    n=st.integers(1, 40),
    again=st.integers(1, 40),
    step=st.integers(0, 30),
    ranks=st.integers(1, 4),
    together=st.integers(1, 4),
)
def test_tickets_from_a_position_on_are_the_tail(
    rows, order, shape, n, again, step, ranks, together
):
    settings_ = plan(rows, order, shape)
    position = min(n * step, settings_.total)
    for rank in range(ranks):
        share = Ranks(rank, ranks)
        whole = batches(tickets(settings_, n, ranks=share))
        tail = batches(tickets(settings_, n, "pad", 0, position, step, share, together))
        assert tail == whole[step:]
        # Cut otherwise the samples are the same.
        other = batches(tickets(settings_, again, "pad", 0, position, step, share, together))
        assert [p for b in other for p in b[1]] == [p for b in whole[step:] for p in b[1]]
        assert [b[0] for b in other] == list(range(step, step + len(other)))
    cut, rest = tickets(settings_, n), tickets(settings_, n, position=position, step=step)
    for a, b in zip(cut[step:], rest, strict=True):
        assert a.blocks.tolist() == b.blocks.tolist()
        assert a.rows.tolist() == b.rows.tolist()


@settings(max_examples=150, deadline=None)
@given(
    rows=ROWS.filter(any),
    order=st.sampled_from(ORDERS),
    shape=SHAPES,
    n=st.integers(1, 40),
    uneven=st.sampled_from(["pad", "wrap", "drop"]),
    size=st.integers(1, 8),
    together=st.integers(1, 4),
)
def test_ranks_share_each_batch_and_have_equally_many(
    rows, order, shape, n, uneven, size, together
):
    settings_ = plan(rows, order, shape)
    total = settings_.total
    n = max(n, size)
    ranks = [
        batches(tickets(settings_, n, uneven, ranks=Ranks(r, size), together=together))
        for r in range(size)
    ]
    assert len({len(own) for own in ranks}) == 1
    for step, shares in enumerate(zip(*ranks, strict=True)):
        first, stop = step * n, min((step + 1) * n, total)
        assert {b[0] for b in shares} == {step}
        assert {b[3] for b in shares} == {stop - first}
        assert {b[4] for b in shares} == {stop}
        assert sorted(p for b in shares for p in b[1]) == list(range(first, stop))
        assert all(p % size == r for r, b in enumerate(shares) for p in b[1])
        counts = {len(b[1]) + len(b[2]) for b in shares}
        assert max(counts) - min(counts) <= 1
        if stop - first == n:
            assert not any(b[2] for b in shares)
        elif uneven == "pad":
            assert len(counts) == 1
        else:
            assert sum(len(b[1]) + len(b[2]) for b in shares) == n
        again = sorted(p for b in shares for p in b[2])
        assert again == sorted(i % total for i in range(len(again)))


@settings(max_examples=100, deadline=None)
@given(
    rows=ROWS,
    order=st.sampled_from(KNOWN),
    shape=SHAPES,
    n=st.integers(1, 40),
    size=st.integers(1, 5),
    step=st.integers(0, 5),
)
def test_a_rank_is_told_the_last_use_of_what_it_reads(rows, order, shape, n, size, step):
    settings_ = plan(rows, order, shape)
    position = min(step * n, settings_.total)
    for rank in range(size):
        cut = tickets(settings_, n, "drop", position=position, ranks=Ranks(rank, size))
        needed = [set(t.blocks.tolist()) for t in cut]
        told = {b: s for s, t in enumerate(cut) for b in t.last_use}
        for block, s in told.items():
            assert all(block not in later for later in needed[s + 1 :])
        if cut and cut[-1].parts[-1].after == settings_.total:
            assert set().union(*needed) <= set(told)


@pytest.mark.parametrize("order", ORDERS)
def test_ten_billion_samples_take_memory_for_their_blocks_alone(order):
    blocks, rows = 10**6, 10**4
    settings_ = PlanSettings(np.arange(blocks + 1) * rows, order, 3, WindowShape(48, 1))
    tracemalloc.start()
    try:
        for position in (0, 5 * 10**9, 10**10 - 64):
            cut = EpochPlan(settings_, Fixed(64), 0, Ranks(1, 4)).tickets(position)
            first = next(cut)
            assert first.positions.tolist() == list(range(position + 1, position + 64, 4))
            assert ((first.blocks >= 0) & (first.blocks < blocks)).all()
            assert ((first.rows >= 0) & (first.rows < rows)).all()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 150 * blocks
