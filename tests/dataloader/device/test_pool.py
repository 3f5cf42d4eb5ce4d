"""The pool: memory comes back when nothing views it, and never before."""

from __future__ import annotations

import gc
import mmap
import re
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.dataloader.device.cpu import CpuDevice
from forebay.dataloader.device.pool import SlotPool, typed
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.slot import DenseField, SlotSpec

PAGE = mmap.PAGESIZE


@pytest.fixture
def budget():
    return Budget(10 * PAGE)


@pytest.fixture
def pool(budget):
    return SlotPool(budget)


def address(array):
    return array.__array_interface__["data"][0]


def resident():
    """Bytes of anonymous memory of this process."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024


@pytest.mark.parametrize("nbytes", [0, 1, 100, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
def test_memory_is_of_the_size_asked_for_and_begins_at_a_page(pool, nbytes):
    memory = pool.take(nbytes)
    assert (memory.shape, memory.dtype) == ((nbytes,), np.uint8)
    assert memory.flags.writeable
    if nbytes:
        assert address(memory) % PAGE == 0
        memory[:] = 255


def test_memory_is_given_out_again_when_its_tensor_is_dead(pool, budget):
    tensor = torch.from_numpy(typed(pool.take(PAGE), (PAGE // 4,), "float32"))
    first = tensor.data_ptr()
    del tensor
    gc.collect()
    again = pool.take(PAGE - 5)
    assert address(again) == first
    assert budget.held == 0, "memory in use is charged to its slot, not to the pool"


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t[3:4],
        lambda t: t.view(-1, 2)[:, 1],
        lambda t: t.numpy()[1:2],
        lambda t: memoryview(t.numpy()),
        lambda t: t.detach(),
        lambda t: torch.utils.dlpack.to_dlpack(t),
        lambda t: t.untyped_storage(),
    ],
)
def test_nothing_is_given_out_again_while_a_view_lives(pool, view):
    tensor = torch.from_numpy(typed(pool.take(PAGE), (PAGE // 4,), "float32"))
    first = tensor.data_ptr()
    kept = view(tensor)
    del tensor
    gc.collect()
    other = pool.take(PAGE)
    assert address(other) != first
    del kept, other
    gc.collect()
    assert first in {address(m) for m in [pool.take(PAGE) for _ in range(2)]}


def test_idle_memory_is_charged_and_what_does_not_fit_is_freed(pool, budget):
    held = [pool.take(PAGE) for _ in range(4)]
    assert budget.held == 0
    assert budget.try_charge("blocks", 8 * PAGE)
    held.clear()
    other = pool.take(3 * PAGE)  # another size: it takes nothing, and counts what came back
    assert budget.by_account()["pool"] == 2 * PAGE
    assert len(other) == 3 * PAGE
    one, two, three = (pool.take(PAGE) for _ in range(3))
    assert budget.by_account()["pool"] == 0
    assert len({address(m) for m in (one, two, three)}) == 3


def test_trim_frees_about_what_is_asked_for(pool, budget):
    held = [pool.take(PAGE) for _ in range(5)]
    held.clear()
    assert pool.trim(0) == 0
    assert budget.held == 5 * PAGE
    assert pool.trim(PAGE + 1) == 2 * PAGE
    assert budget.held == 3 * PAGE
    assert pool.trim(10**9) == 3 * PAGE
    assert budget.held == 0
    assert pool.trim(1) == 0


def test_trimmed_memory_goes_back_to_the_system():
    pool, size = SlotPool(Budget(10**9)), 80_000_000
    memory = pool.take(size)
    memory[:] = 1
    full = resident()
    del memory
    assert pool.trim(1) >= size
    assert full - resident() > 0.9 * size


def test_without_its_pool_memory_that_comes_back_is_freed_though_other_batches_live():
    budget = Budget(10**9)
    pool, size = SlotPool(budget), 40_000_000
    kept, *others = (pool.take(size) for _ in range(3))
    for memory in others:
        memory[:] = 1
    del pool
    gc.collect()
    full = resident()
    memory = None
    others.clear()
    assert full - resident() > 1.8 * size
    kept[:] = 7
    assert kept[-1] == 7


def test_memory_outlives_the_pool():
    pool = SlotPool(Budget(10**9))
    memory = pool.take(100)
    del pool
    gc.collect()
    memory[:] = 3
    assert memory.sum() == 300


@settings(max_examples=100, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["take", "drop", "trim"]), st.integers(0, 4 * PAGE)), max_size=40
    )
)
def test_live_memory_never_overlaps_and_idle_memory_is_what_is_charged(steps):
    budget = Budget(6 * PAGE)
    pool, live = SlotPool(budget), []
    for i, (what, n) in enumerate(steps):
        if what == "take":
            memory = pool.take(n)
            memory[:] = i % 251
            live.append((i % 251, memory))
        elif what == "drop" and live:
            live.pop(n % len(live))
            memory = None
        elif what == "trim":
            pool.trim(n)
        assert all((m == mark).all() for mark, m in live)
        assert budget.held == budget.by_account().get("pool", 0) <= 6 * PAGE
    pool.trim(10**9)
    assert budget.held == 0


def test_what_an_interrupt_tore_is_right_again_with_the_next_change(pool, budget):
    held = [pool.take(PAGE) for _ in range(3)]
    held.clear()
    budget.hold("pool", 7 * PAGE)  # as if torn between a charge and what it is for
    pool.take(PAGE)
    assert budget.by_account()["pool"] == 2 * PAGE


def test_several_threads_take_and_drop_at_once():
    pool = SlotPool(Budget(8 * PAGE))
    wrong = []

    def work(mark):
        for _ in range(300):
            memory = pool.take(PAGE)
            memory[:] = mark
            if not (memory == mark).all():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_the_cpu_device_builds_slots_and_takes_their_memory_back():
    budget = Budget(10**9)
    device = CpuDevice(SlotPool(budget))
    device.open()
    spec = SlotSpec((DenseField("x", (2, 3), "float16"), DenseField("y", (), "bool")), ("text",))
    slot = device.allocate(spec, 5)
    assert {k: (v.shape, v.dtype.name) for k, v in slot.arrays.items()} == {
        "x": ((5, 2, 3), "float16"),
        "y": ((5,), "bool"),
    }
    assert slot.lists == {"text": [None] * 5}
    sealed = object()
    assert device.run(sealed, slot) is sealed
    del slot
    assert device.trim(1) == PAGE
    assert device.trim(10**9) == PAGE
    device.close()
    assert budget.held == 0
