"""Meters: sums of what each stage did."""

from __future__ import annotations

import threading
import time

import pytest

from forebay.telemetry.meter import Board, Meter


def test_sums():
    meter = Meter("fetch")
    meter.add(calls=1, items=2, nbytes=3, work_s=0.5, wait_input_s=0.25, wait_output_s=0.125)
    meter.add(calls=10, nbytes=30)
    s = meter.stats()
    assert (s.name, s.calls, s.items, s.bytes) == ("fetch", 11, 2, 33)
    assert (s.work_s, s.wait_input_s, s.wait_output_s) == (0.5, 0.25, 0.125)


def test_a_span_is_one_call_and_its_time():
    meter = Meter("decode")
    with meter.span() as span:
        span.items, span.nbytes = 4, 100
        time.sleep(0.02)
    s = meter.stats()
    assert (s.calls, s.items, s.bytes) == (1, 4, 100)
    assert 0.02 <= s.work_s < 5
    assert s.wait_input_s == s.wait_output_s == 0


def test_a_span_that_fails_is_counted_and_the_error_goes_on():
    meter = Meter("decode")

    def work():
        with meter.span() as span:
            span.items = 3
            raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        work()
    assert (meter.stats().calls, meter.stats().items) == (1, 3)


def test_no_call_of_many_threads_is_lost():
    meter = Meter("x")

    def work():
        for _ in range(5000):
            meter.add(calls=1, items=2, nbytes=3)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    s = meter.stats()
    assert (s.calls, s.items, s.bytes) == (20_000, 40_000, 60_000)


def test_a_board_makes_each_meter_once_in_the_order_of_first_use():
    board = Board()
    assert board.stages() == ()
    board["b"].add(calls=1)
    board["a"].add(calls=1)
    board["b"].add(calls=1)
    assert [(s.name, s.calls) for s in board.stages()] == [("b", 2), ("a", 1)]
    assert board["a"] is board["a"]


def test_stats_do_not_change_afterwards():
    board = Board()
    board["a"].add(calls=1)
    before = board.stages()
    board["a"].add(calls=1)
    assert before[0].calls == 1
