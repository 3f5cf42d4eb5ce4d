"""Bounded, the oldest first, and empty in a forked child whatever its parent's threads held."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from dataclasses import dataclass

import pytest

from forebay.formats.lru import Lru


@dataclass(frozen=True)
class Thing:
    nbytes: int


def test_the_least_recently_used_goes_first():
    lru = Lru(100)
    loads = []

    def get(key, nbytes=40):
        def load():
            loads.append(key)
            return Thing(nbytes)

        assert lru.get(key, load).nbytes == nbytes
        assert lru.nbytes <= 100

    for key in (1, 2, 1, 3, 1, 2):
        get(key)
    assert loads == [1, 2, 3, 2]
    get(9, 101)
    get(9, 101)
    assert loads[-2:] == [9, 9]
    get(2)
    assert loads[-1] == 9


def test_the_newest_may_stay_above_the_limit():
    lru = Lru(10, keep_newest=True)
    kept = lru.get("a", lambda: Thing(11))
    assert lru.get("a", lambda: Thing(0)) is kept
    lru.get("b", lambda: Thing(12))
    assert lru.nbytes == 12


def test_a_limit_may_change():
    lru = Lru(100)
    for key in range(5):
        lru.get(key, lambda: Thing(20))
    lru.bound(40)
    assert lru.nbytes == 40
    assert lru.get(4, lambda: Thing(0)).nbytes == 20
    lru.get(5, lambda: Thing(20))
    assert lru.nbytes == 40


def test_pickling_keeps_the_limit_and_nothing_else():
    lru = Lru(7, keep_newest=True)
    lru.get(1, lambda: Thing(5))
    again = pickle.loads(pickle.dumps(lru))
    assert again.nbytes == 0
    again.get(1, lambda: Thing(9))
    assert again.nbytes == 9
    again.get(2, lambda: Thing(3))
    assert again.nbytes == 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_the_lock_is_held_is_not_stopped():
    held, done = threading.Event(), threading.Event()

    class Slow:
        """A key that is looked up slowly, under the lock, by one thread."""

        def __hash__(self):
            if threading.current_thread().name == "holder":
                held.set()
                done.wait(20)
            return 1

        def __eq__(self, other):
            return self is other

    lru = Lru(100)
    lru.get("kept", lambda: Thing(5))
    holder = threading.Thread(target=lambda: lru.get(Slow(), lambda: Thing(1)), name="holder")
    holder.start()
    assert held.wait(10)
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        os._exit(0 if lru.get("kept", lambda: Thing(7)).nbytes == 7 else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    holder.join()
    assert status == 0
