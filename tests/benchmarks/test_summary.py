"""Which runs count, their medians and their spread."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.benchmarks.peers.summary import figure, others_share, quiet, summarise


def run(rate=100.0, others=0.0, **more):
    """Ten seconds on two processors, of which the peer took eight seconds."""
    machine = {"busy": 8.0 + 20.0 * others, "stolen": 0.0, "total": 20.0}
    found = {"samples": int(rate * 10), "seconds": 10.0, "cpu_s": 8.0, "read_bytes": 5_000}
    return found | {"first_s": 0.5, "memory_bytes": 10**9, "ours_s": 8.0, "machine": machine} | more


def test_share_of_others_is_what_the_peer_did_not_use():
    assert others_share(run(others=0.25)) == pytest.approx(0.25)


def test_stolen_time_counts_as_others():
    stolen = {"busy": 8.0, "stolen": 5.0, "total": 20.0}
    assert others_share(run(machine=stolen)) == pytest.approx(0.25)


def test_share_is_never_below_zero_though_counters_are_coarse():
    assert others_share(run(ours_s=8.1)) == 0.0


def test_disturbed_runs_do_not_count():
    row = summarise([run(100), run(102), run(10, others=0.5)])
    assert row.rate.median == 101
    assert (row.runs, row.dropped, row.disturbed) == (2, 1, False)


def test_the_quietest_stands_for_a_peer_that_was_always_disturbed():
    row = summarise([run(50, others=0.6), run(80, others=0.2), run(20, others=0.9)])
    assert row.rate.median == 80
    assert (row.runs, row.dropped, row.disturbed) == (1, 2, True)


def test_a_run_at_the_limit_counts():
    kept, disturbed = quiet([run(others=0.0625)], most=0.0625)
    assert len(kept) == 1
    assert not disturbed


def test_rates_cpu_and_bytes_are_a_sample():
    row = summarise([run(100)])
    assert row.rate.median == 100
    assert row.cpu.median == pytest.approx(8.0 / 1000)
    assert row.read.median == 5.0


def test_runs_of_a_first_batch_alone_have_no_rate():
    runs = [run(first_s=t, others=o) for t, o in ((0.3, 0), (0.1, 0), (0.2, 0), (9.0, 0.5))]
    for each in runs:
        del each["samples"]
    row = summarise(runs)
    assert row.rate is None
    assert row.read is None
    assert row.first.median == 0.2
    assert row.cpu.median == 8.0
    assert row.dropped == 1


def test_spread_is_a_share_of_the_median():
    assert figure([90.0, 100.0, 115.0]).spread == pytest.approx(0.25)


@given(st.lists(st.floats(1.0, 1e6), min_size=1), st.floats(0.5, 2.0))
def test_spread_does_not_depend_on_the_unit(values, scale):
    a, b = figure(values), figure([v * scale for v in values])
    assert b.median == pytest.approx(a.median * scale)
    assert b.spread == pytest.approx(a.spread)
