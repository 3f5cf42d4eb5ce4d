"""Memory of blocks: lent, given back with the last view, bounded, and safe in threads and forks."""

from __future__ import annotations

import gc
import os
import pickle
import threading

import numpy as np
import pytest

from forebay.formats.block_memory import KEPT, BlockMemory, rounded, slack

MB = 1 << 20


def address(array):
    return array.ctypes.data


def test_a_buffer_comes_back_when_its_last_view_is_gone():
    memory = BlockMemory()
    first = memory.take(MB)
    at = address(first)
    view = first[100:200].view(np.int32)[1:]
    del first
    assert memory.nbytes == 0
    other = memory.take(MB)
    assert address(other) != at
    del view
    assert memory.nbytes == MB
    assert address(memory.take(MB)) == at


def test_a_memoryview_keeps_it_too():
    memory = BlockMemory()
    view = memory.take(MB).data
    gc.collect()
    assert memory.nbytes == 0
    view[:3] = b"abc"
    assert bytes(view[:3]) == b"abc"
    del view
    assert memory.nbytes == MB


@pytest.mark.parametrize("nbytes", [0, 1, 65535, 65536, 70_000, MB, MB + 1, 5_000_001])
def test_sizes_and_alignment(nbytes):
    array = BlockMemory().take(nbytes)
    assert (array.nbytes, array.dtype, array.flags.writeable) == (nbytes, np.uint8, True)
    assert not nbytes or address(array) % 64 == 0  # no bytes have no address
    whole = rounded(nbytes)
    assert nbytes <= whole <= nbytes + slack(nbytes)
    assert whole <= nbytes * 1.07
    assert all(rounded(n) <= n + slack(nbytes) for n in range(0, nbytes, max(1, nbytes // 99)))


def test_neighbouring_sizes_share_a_buffer():
    memory = BlockMemory()
    at = address(memory.take(MB + 100))
    assert address(memory.take(MB + 9000)) == at
    assert address(memory.take(2 * MB)) != at


def test_it_keeps_within_its_bound():
    memory = BlockMemory(3 * MB)
    held = [memory.take(MB) for _ in range(6)]
    del held
    assert memory.nbytes == 3 * MB
    memory.bound(MB)
    assert memory.nbytes == MB
    memory.bound(0)
    assert memory.nbytes == 0
    memory.take(MB)
    assert memory.nbytes == 0
    many = BlockMemory(1 << 40)
    held = [many.take(1 << 16) for _ in range(3 * KEPT)]
    del held
    assert many.nbytes == KEPT << 16


def test_threads_never_share_a_buffer():
    memory = BlockMemory()
    wrong = []

    def work(mark):
        for _ in range(300):
            a, b = memory.take(MB // 8), memory.take(MB // 8)
            a[:64], b[:64] = mark, mark + 1
            if (a[:64] != mark).any() or (b[:64] != mark + 1).any():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(2 * i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_fork_has_its_own():
    memory = BlockMemory()
    held = memory.take(MB)
    held[:4] = 1
    memory.take(MB)[:4] = 2
    pid = os.fork()
    if pid == 0:
        mine = memory.take(MB)
        mine[:4] = 3
        os._exit(0 if (held[:4] == 1).all() else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (memory.take(MB)[:4] == 2).all()


def test_a_copy_begins_empty():
    memory = BlockMemory(2 * MB)
    memory.take(MB)
    copy = pickle.loads(pickle.dumps(memory))
    assert (memory.nbytes, copy.nbytes) == (MB, 0)


def test_brief_buffers_of_different_sizes_share_memory():
    memory = BlockMemory()
    at = address(memory.take(MB + 100, brief=True))
    assert address(memory.take(MB * 3 // 2, brief=True)) == at
    assert address(memory.take(MB * 3 // 2 + 1, brief=True)) != at


@pytest.mark.parametrize("nbytes", [0, 1, 65536, 70_000, MB, MB + 1, 5_000_001])
def test_a_brief_buffer_takes_what_is_charged(nbytes):
    whole = rounded(nbytes, brief=True)
    assert nbytes <= whole <= nbytes + slack(nbytes, brief=True)
    assert whole <= nbytes * 1.5
    memory = BlockMemory()
    memory.take(nbytes, brief=True)
    assert memory.nbytes in (0, whole)
