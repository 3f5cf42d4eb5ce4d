"""The line by itself: tasks in order, bytes charged in order, whatever finishes first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.batch.fixed import Fixed
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.line import Line, LineSettings, LoadTask, SealTask, SliceTask
from forebay.dataloader.flow.slot import DenseField, Slot, SlotSpec
from forebay.dataloader.flow.ticket import Cutting
from forebay.dataloader.plan.epoch import EpochPlan, PlanSettings
from forebay.dataloader.plan.footprint import resident_bytes
from forebay.dataloader.plan.window import WindowShape

ROW, STORED, SAMPLE = 1000, 100, 8


class Damage(Exception):
    pass


class Fetch:
    damage = (Damage,)

    def __init__(self, first_row, damaged=()):
        self.first_row, self.damaged = first_row, damaged

    def cost(self, key, rows):
        if key.block in self.damaged:
            raise Damage(f"block {key.block}")
        n = self.first_row[key.block + 1] - self.first_row[key.block]
        n = int(n) if rows is None else len(rows)
        return STORED * n, ROW * n


class Device:
    """Gives out arrays, and counts them."""

    def __init__(self):
        self.allocated = 0

    def allocate(self, spec, n):
        self.allocated += 1
        return Slot(n, {"x": np.zeros(n)}, {}, lambda nbytes: np.empty(nbytes, np.uint8))

    def trim(self, nbytes):
        return 0


class Driver:
    """Runs a line by hand: tasks are picked, then finished in an order of the test's choice."""

    def __init__(self, rows, order="sequential", *, n=10, memory=10**9, depth=4, shape=(2, 2),
                 by_record=False, damaged=()):  # fmt: skip
        self.first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
        self.plan = PlanSettings(self.first_row, order, 1, WindowShape(*shape), by_record)
        plan = EpochPlan(self.plan, Fixed(n), 0)
        self.budget, self.device = Budget(memory), Device()
        spec = SlotSpec((DenseField("x", (), "int64"),), ())
        self.line = Line(
            plan.tickets(), lambda: spec, self.budget, Fetch(self.first_row, damaged), self.device,
            LineSettings(Cutting(2, True, False), depth, evict_early=plan.keep_for_later),
        )  # fmt: skip
        self.running = []
        self.trace = []

    def pick(self):
        task = self.line.pick()
        if task is not None:
            self.running.append(task)
            self.trace.append(task)
        return task

    def pick_all(self):
        while self.pick() is not None:
            pass
        return self.running

    def finish(self, task):
        self.running.remove(task)
        match task:
            case LoadTask():
                n = self.first_row[task.resident.key.block + 1]
                n -= self.first_row[task.resident.key.block]
                n = int(n) if task.rows is None else len(task.rows)
                self.line.loaded(task, "block", ROW * n, None)
            case SliceTask():
                self.line.decoded(task, [])
            case SealTask():
                self.line.sealed(task.flight, ["batch"])


def step_of(task):
    match task:
        case LoadTask():
            return task.step
        case SliceTask():
            return task.pending.slice.ticket.step
    return task.flight.ticket.step


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.integers(0, 9), min_size=1, max_size=20).filter(any),
    order=st.sampled_from(["sequential", "blocks", "window", "full"]),
    n=st.integers(1, 30),
    depth=st.integers(1, 5),
    memory=st.sampled_from([1, 12_000, 40_000, 10**9]),
    by_record=st.booleans(),
    random=st.randoms(use_true_random=False),
)
def test_whatever_finishes_first_every_ticket_leaves_in_order(
    rows, order, n, depth, memory, by_record, random
):
    by_record = by_record and order == "full"
    d = Driver(rows, order, n=n, memory=memory, depth=depth, by_record=by_record)
    steps = []
    while not d.line.empty:
        while random.random() < 0.7 and d.pick() is not None:
            pass
        if not d.running:
            d.pick()
        if d.running:
            d.finish(random.choice(d.running))
        flight = d.line.take_head()
        if flight is not None:
            steps.append(flight.ticket.step)
            assert list(flight.batches) == ["batch"]
            d.line.delivered(flight)
        elif not d.running:
            assert d.pick() is not None or d.line.empty, "the line is stuck"
    assert steps == list(range(-(-sum(rows) // n)))
    if order != "full":
        assert d.budget.held == 0, "blocks are dropped with their last use"
    d.line.clear()
    assert d.budget.held == 0


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.integers(1, 9), min_size=2, max_size=20),
    order=st.sampled_from(["sequential", "blocks", "window"]),
    n=st.integers(1, 30),
    depth=st.integers(1, 5),
    random=st.randoms(use_true_random=False),
)
def test_the_door_s_least_budget_is_never_overdrawn(rows, order, n, depth, random):
    sizes = np.array(rows, np.int64) * ROW
    plan = PlanSettings(
        np.r_[0, np.cumsum(rows)].astype(np.int64), order, 1, WindowShape(2, 2), False
    )
    least = resident_bytes(plan, sizes, 0, n) + max(rows) * (ROW + STORED) + 2 * n * SAMPLE
    d = Driver(rows, order, n=n, memory=least, depth=depth)
    while not d.line.empty:
        d.pick()
        if d.running and random.random() < 0.6:
            d.finish(random.choice(d.running))
        d.line.take_head()
    assert d.budget.overdrawn == 0
    assert d.budget.peak <= least


def test_loads_come_before_slices_and_low_steps_before_high():
    d = Driver([10] * 4, depth=4)
    d.pick_all()
    assert [type(t) for t in d.running] == [LoadTask] * 4
    assert [t.step for t in d.running] == [0, 1, 2, 3]
    d.finish(d.running[2])
    d.finish(d.running[0])
    assert step_of(d.pick()) == 0
    assert step_of(d.pick()) == 0
    assert step_of(d.pick()) == 0
    assert step_of(d.pick()) == 2


def test_a_slice_starts_when_all_its_blocks_have_come():
    d = Driver([5, 5], n=10)
    first, second = d.pick_all()
    d.finish(second)
    # Slices of four rows by block: [5 rows of block 0] fill the first and half of the second.
    assert d.pick() is None or d.running[-1].pending.slice.keys[0].block == 1
    d.finish(first)
    got = d.pick_all()
    assert {k.block for t in got for k in t.pending.slice.keys} == {0, 1}
    for task in got:
        assert set(task.blocks) == set(task.pending.slice.keys)
        assert not task.failed


def test_no_more_than_depth_tickets_are_under_way():
    d = Driver([10] * 10, depth=3)
    d.pick_all()
    assert d.device.allocated == 3
    assert d.line.full
    assert not d.line.empty
    while d.running:
        d.finish(d.running[0])
        d.pick_all()
    assert d.device.allocated == 3, "finished tickets count until the consumer has them"
    d.line.take_head()
    d.pick()
    assert d.device.allocated == 4


def test_a_later_ticket_waits_for_room_and_the_head_does_not():
    # Account for one block and its read, and two slots; the second block must wait.
    d = Driver([10] * 3, memory=10 * (ROW + STORED) + 2 * 10 * SAMPLE, depth=3)
    d.pick_all()
    assert [step_of(t) for t in d.running] == [0]
    assert d.line.full
    assert d.budget.overdrawn == 0
    small = Driver([10] * 3, memory=1, depth=3)
    small.pick_all()
    assert [step_of(t) for t in small.running] == [0]
    assert small.budget.overdrawn == 10 * (ROW + STORED + SAMPLE) - 1


def test_one_block_is_loaded_once_for_all_tickets():
    d = Driver([40], n=10, depth=4)
    d.pick_all()
    assert len(d.running) == 1
    assert d.budget.by_account()["blocks"] == 40 * ROW
    while not d.line.empty:
        for task in list(d.running):
            d.finish(task)
        d.pick_all()
        d.line.take_head()
    assert sum(isinstance(t, LoadTask) for t in d.trace) == 1


def test_the_bytes_of_a_batch_are_the_consumers_once_delivered():
    d = Driver([10], depth=1)
    d.pick_all()
    assert d.budget.by_account()["slots"] == 10 * SAMPLE
    while d.running:
        d.finish(d.running[0])
        d.pick_all()
    assert d.budget.by_account() == {"slots": 80, "fetch": 0, "blocks": 0}
    flight = d.line.take_head()
    assert d.budget.held == 80
    d.line.delivered(flight)
    assert d.budget.held == 0
    assert d.line.take_head() is None
    d.pick()
    assert d.line.empty


def test_a_block_whose_cost_is_damaged_is_a_load_that_failed():
    d = Driver([10, 10], damaged=[0])
    d.pick_all()
    loads = [t for t in d.running if isinstance(t, LoadTask)]
    slices = [t for t in d.running if isinstance(t, SliceTask)]
    assert [t.resident.key.block for t in loads] == [1]
    assert slices
    for task in slices:
        assert not task.blocks
        assert [str(e) for e in task.failed.values()] == ["block 0"]


def test_a_failed_load_fails_each_slice_that_waits_for_it():
    d = Driver([10])
    (load,) = d.pick_all()
    d.running.clear()
    d.line.loaded(load, None, 0, Damage("bits"))
    slices = d.pick_all()
    assert len(slices) == 3
    assert [str(e) for t in slices for e in t.failed.values()] == ["bits"] * 3
    assert d.budget.by_account()["blocks"] == 0


@pytest.mark.parametrize("finished", [0, 1, 2, 5])
def test_clear_in_the_middle_gives_everything_back(finished):
    d = Driver([10] * 8, "window", depth=3)
    d.pick_all()
    for _ in range(finished):
        d.finish(d.running[0])
        d.pick_all()
    assert d.budget.held > 0
    d.line.clear()
    assert d.budget.held == 0
    assert d.line.empty
    assert d.line.pick() is None
