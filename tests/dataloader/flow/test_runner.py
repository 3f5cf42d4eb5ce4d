"""The flow with the simplest stages that can be: numbers in memory."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.batch.fixed import Fixed
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.errors import LoaderClosed, SampleError, StageFailed
from forebay.dataloader.flow.fault import fault_at
from forebay.dataloader.flow.line import Line, LineSettings
from forebay.dataloader.flow.runner import Runner, Stages
from forebay.dataloader.flow.slot import DenseField, Slot, SlotSpec
from forebay.dataloader.flow.ticket import Cutting
from forebay.dataloader.plan.epoch import EpochPlan, PlanSettings
from forebay.dataloader.plan.footprint import resident_bytes
from forebay.dataloader.plan.window import WindowShape
from forebay.telemetry.meter import Board

ROW = 1000  # bytes of one row in memory


class Damage(Exception):
    pass


class Fetch:
    """Block b holds the numbers of its rows; counts what it is asked for."""

    damage = (Damage,)

    def __init__(self, first_row, *, bad_blocks=(), broken_blocks=(), delay=0.0):
        self.first_row = first_row
        self.bad, self.broken, self.delay = set(bad_blocks), set(broken_blocks), delay
        self.loads: list[int] = []
        self.opened = self.closed = self.scattered = 0

    def open(self):
        self.opened += 1

    def cost(self, key, rows):
        n = (
            len(rows)
            if rows is not None
            else self.first_row[key.block + 1] - self.first_row[key.block]
        )
        return 100 * int(n), ROW * int(n)

    def run(self, key, rows):
        self.loads.append(key.block)
        time.sleep(self.delay)
        if key.block in self.bad:
            raise Damage(f"block {key.block}")
        if key.block in self.broken:
            raise OSError("the store is gone")
        if rows is None:
            got = np.arange(self.first_row[key.block], self.first_row[key.block + 1])
        else:
            self.scattered += len(rows)
            got = self.first_row[rows.blocks] + rows.rows
        return got, ROW * len(got)

    def close(self):
        self.closed += 1


class Decode:
    def __init__(self, bad_values=(), error=None):
        self.bad, self.error = set(bad_values), error

    def open(self):
        pass

    def run(self, task, blocks, slot):
        faults = []
        for key, places, rows in task.runs():
            if key not in blocks:
                continue
            values = blocks[key][rows]
            slot.arrays["x"][places] = values
            for place, value in zip(places, values, strict=True):
                if int(value) in self.bad:
                    if self.error is not None:
                        raise self.error
                    faults.append(fault_at(task.ticket, int(place), "decode", Damage(f"{value}")))
        return faults

    def stop(self):
        pass

    def close(self):
        pass


class Batch:
    def open(self):
        pass

    def declare(self):
        return SlotSpec((DenseField("x", (), "int64"),), ())

    def run(self, ticket, count, slot):
        return [slot.arrays["x"][part.first : part.stop] for part in ticket.parts[:count]]

    def close(self):
        pass


class Device:
    def open(self):
        pass

    def allocate(self, spec, n):
        return Slot(
            n, {"x": np.full(n, -1, np.int64)}, {}, lambda nbytes: np.empty(nbytes, np.uint8)
        )

    def trim(self, nbytes):
        return 0

    def run(self, sealed, slot):
        return sealed

    def close(self):
        pass


SHAPE = WindowShape(3, 2)


def build(
    rows,
    order="window",
    *,
    n=7,
    threads=2,
    depth=3,
    memory=10**9,
    epoch=0,
    by_record=False,
    fetch=None,
    decode=None,
    shape=SHAPE,
    together=1,
    gathers=True,
):
    first_row = np.r_[0, np.cumsum(rows)].astype(np.int64)
    settings_ = PlanSettings(first_row, order, 5, shape, by_record)
    plan = EpochPlan(settings_, Fixed(n), epoch, together=together)
    fetch = fetch or Fetch(first_row)
    fetch.first_row = first_row
    budget = Budget(memory)
    stages = Stages(fetch, decode or Decode(), Batch(), Device())
    bounds = LineSettings(Cutting(threads, True, gathers), depth, evict_early=plan.keep_for_later)
    line = Line(plan.tickets(), stages.batch.declare, budget, fetch, stages.device, bounds)
    runner = Runner(line, stages, threads, Board(), lambda block, row: ("shard", row), budget)
    return runner, fetch, budget


def values(runner):
    return [int(x) for batch in runner for x in batch]


def forebay_threads():
    return [t for t in threading.enumerate() if t.name.startswith("forebay-")]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(any),
    order=st.sampled_from(["sequential", "blocks", "window", "full"]),
    n=st.integers(1, 90),
    threads=st.integers(0, 3),
    depth=st.integers(1, 5),
    memory=st.sampled_from([1, 20_000, 10**9]),
    by_record=st.booleans(),
    together=st.integers(1, 9),
)
def test_stream_depends_on_the_plan_alone(
    rows, order, n, threads, depth, memory, by_record, together
):
    by_record = by_record and order == "full"
    reference, _, _ = build(rows, order, n=n, threads=0, depth=1)
    runner, fetch, budget = build(
        rows, order, n=n, threads=threads, depth=depth, memory=memory, by_record=by_record,
        together=together,
    )  # fmt: skip
    batches = [batch.tolist() for batch in runner]
    assert batches == [batch.tolist() for batch in reference]
    assert sorted(x for batch in batches for x in batch) == list(range(sum(rows)))
    assert budget.held == 0
    assert (fetch.opened, fetch.closed) == (1, 1)
    # Slices share their loads, unless there is no room to keep one for the other.
    assert sum(rows) <= fetch.scattered <= 2 * sum(rows) if by_record else fetch.scattered == 0
    if by_record and memory == 10**9:
        assert fetch.scattered == sum(rows)


def test_sequential_reads_each_block_once():
    runner, fetch, _ = build([5] * 20, "sequential")
    values(runner)
    assert sorted(fetch.loads) == list(range(20))


def test_window_reads_a_block_again_only_where_lanes_meet():
    need = 4 * 2 * 10 * ROW + 10 * (100 + ROW) + 2 * 7 * 8
    runner, fetch, _ = build([10] * 41, "window", shape=WindowShape(4, 2), memory=need)
    values(runner)
    assert set(fetch.loads) == set(range(41))
    assert 41 < len(fetch.loads) <= 41 + 3


def test_blocks_in_which_lanes_meet_stay_while_there_is_room():
    runner, fetch, _ = build([10] * 41, "window", shape=WindowShape(4, 2))
    values(runner)
    assert sorted(fetch.loads) == list(range(41))


def test_budget_holds_when_it_is_enough_for_the_window():
    shape, extra = WindowShape(4, 1), 10 * (100 + ROW) + 2 * 7 * 8
    # Slices that only decode let a block go before the rest of their ticket is done.
    need = 4 * 10 * ROW + extra
    runner, _, budget = build([10] * 60, "window", shape=shape, memory=need, gathers=False)
    values(runner)
    assert budget.overdrawn == 0
    settings_ = PlanSettings(np.arange(61) * 10, "window", 5, shape)
    need = resident_bytes(settings_, np.full(60, 10 * ROW), epoch=0, batch=7) + extra
    runner, _, budget = build([10] * 60, "window", shape=shape, memory=need)
    values(runner)
    assert budget.overdrawn == 0
    assert budget.peak <= need


def test_budget_smaller_than_a_block_still_moves_and_is_told():
    runner, _, budget = build([10] * 6, "window", memory=1)
    assert len(values(runner)) == 60
    assert budget.overdrawn > 0


@pytest.mark.parametrize("threads", [0, 2])
def test_damaged_block_is_the_samples_error_and_closes(threads):
    first = np.r_[0, np.cumsum([5] * 6)]
    runner, _, budget = build(
        [5] * 6, "sequential", threads=threads, fetch=Fetch(first, bad_blocks=[3])
    )
    assert [next(runner).tolist() for _ in range(2)] == [[*range(7)], [*range(7, 14)]]
    with pytest.raises(SampleError, match=r"position 15 .*fetch.*block 3") as caught:
        next(runner)
    assert caught.value.position == 15
    assert caught.value.others == 4
    assert isinstance(caught.value.__cause__, Damage)
    with pytest.raises(LoaderClosed, match="position 15"):
        next(runner)
    assert not forebay_threads()
    assert budget.held == 0


@pytest.mark.parametrize("threads", [0, 2])
def test_bad_sample_is_named(threads):
    runner, _, _ = build([5] * 6, "sequential", threads=threads, decode=Decode([17]))
    with pytest.raises(SampleError, match=r"position 17 .*decode: 17"):
        values(runner)


@pytest.mark.parametrize("threads", [0, 3])
def test_store_failure_is_no_fault_of_a_sample(threads):
    first = np.r_[0, np.cumsum([5] * 6)]
    runner, _, _ = build([5] * 6, threads=threads, fetch=Fetch(first, broken_blocks=[2]))
    with pytest.raises(
        StageFailed, match=r"fetch of shard shard .* failed: OSError: the store is gone"
    ):
        values(runner)
    with pytest.raises(LoaderClosed):
        next(runner)
    assert not forebay_threads()


@pytest.mark.parametrize("error", [TypeError("a bug"), KeyboardInterrupt(), SystemExit(3)])
def test_whatever_ends_a_thread_reaches_the_consumer(error):
    runner, _, _ = build([5] * 6, decode=Decode([17], error))
    with pytest.raises(StageFailed, match=type(error).__name__):
        values(runner)
    assert not forebay_threads()


def test_close_in_the_middle_frees_everything():
    runner, fetch, budget = build([5] * 50, fetch=Fetch(np.r_[0, np.cumsum([5] * 50)], delay=0.001))
    next(runner)
    runner.close()
    runner.close()
    assert not forebay_threads()
    assert budget.held == 0
    assert fetch.closed == 1
    with pytest.raises(StopIteration):
        next(runner)


def test_slow_consumer_holds_no_more_than_depth():
    runner, fetch, _ = build([5] * 50, "sequential", n=5, depth=3)
    next(runner)
    time.sleep(0.1)
    assert len(set(fetch.loads)) <= 1 + 3
    runner.close()


def test_threads_hold_no_iterator():
    class Owner:
        def __init__(self):
            self.runner, _, _ = build([5] * 50)
            weakref.finalize(self, self.runner.drop)

    owner = Owner()
    next(owner.runner)
    del owner
    assert not forebay_threads()


def test_dropped_in_a_cycle_is_collected_from_any_thread():
    class Owner:
        def __init__(self):
            self.runner, _, self.budget = build([5] * 50)
            self.me = self
            weakref.finalize(self, self.runner.drop)

    owner = Owner()
    next(owner.runner)
    budget = owner.budget
    del owner
    collector = threading.Thread(target=gc.collect)
    collector.start()
    collector.join(20)
    assert not collector.is_alive()
    assert not forebay_threads()
    assert budget.held == 0


def test_a_delivered_batch_dies_with_its_last_reference():
    runner, _, _ = build([5] * 50)
    gc.disable()
    try:
        first = weakref.ref(next(runner))
        assert first() is None
    finally:
        gc.enable()
        runner.close()


@pytest.mark.parametrize("shared", ["budget", "board"])
def test_dropped_inside_a_lock_that_its_threads_wait_for(shared, monkeypatch):
    monkeypatch.setattr("forebay.dataloader.flow.runner.DROP_S", 0.2)

    class Owner:
        def __init__(self):
            fetch = Fetch(np.r_[0, np.cumsum([5] * 400)], delay=0.001)
            self.runner, _, self.budget = build([5] * 400, fetch=fetch)
            self.me = self
            weakref.finalize(self, self.runner.drop)

    owner = Owner()
    next(owner.runner)
    budget, lock = owner.budget, None
    lock = budget._lock if shared == "budget" else owner.runner._board["fetch"]._lock
    with lock:
        time.sleep(0.05)
        del owner
        gc.collect()
    for _ in range(100):
        if not forebay_threads():
            break
        time.sleep(0.05)
    assert not forebay_threads()
    assert budget.held == 0


@pytest.mark.parametrize("threads", [0, 2])
def test_batches_before_a_fault_are_delivered_though_they_travel_with_it(threads):
    runner, _, budget = build(
        [10] * 6, "sequential", n=4, threads=threads, together=8, decode=Decode(bad_values=[13, 30])
    )
    got = [next(runner).tolist() for _ in range(3)]
    assert got == [[*range(4)], [*range(4, 8)], [*range(8, 12)]]
    with pytest.raises(SampleError) as e:
        next(runner)
    assert e.value.position == 13
    assert budget.held == 0
