"""What is read from /proc, against processes whose work is known."""

import subprocess
import sys
import time

import pytest

from forebay.benchmarks.peers import proc

# A parent that holds 64 MiB and waits for a child that holds 32 MiB and worked for 0.3 s.
PARENT = """
import subprocess, sys
held = bytearray(b"x") * (64 << 20)
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""
CHILD = """
import time
held = bytearray(b"x") * (32 << 20)
while time.process_time() < 0.3:
    pass
open("/dev/zero").read(1 << 16)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def pair():
    """A process and its child, ended together."""
    command = [sys.executable, "-c", PARENT, CHILD]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert parent.stdout.readline() == b"ready\n"
    yield parent
    for pid in proc.tree(parent.pid)[::-1]:
        subprocess.run(["kill", "-9", str(pid)], check=False)
    parent.wait()


def test_tree_holds_children_and_what_all_hold(pair):
    pids = proc.tree(pair.pid)
    assert len(pids) == 2
    assert pids[0] == pair.pid
    assert 96 << 20 < proc.held_bytes(pids) < 160 << 20


def test_cpu_time_of_the_tree_and_of_one(pair):
    pids = proc.tree(pair.pid)
    # Ticks are 10 ms, and the last one may not have been told yet.
    assert proc.cpu_seconds(pids) >= 0.27
    assert proc.own_cpu_seconds(pids[1]) >= 0.27
    assert proc.own_cpu_seconds(pair.pid) < proc.cpu_seconds(pids)


def test_bytes_read(pair):
    pids = proc.tree(pair.pid)
    assert proc.read_bytes(pids[1:]) >= 1 << 16


def test_a_process_that_ended_is_nothing():
    done = subprocess.Popen(["true"])
    done.wait()
    pids = [done.pid]
    assert proc.tree(done.pid) == []
    assert proc.cpu_seconds(pids) == proc.held_bytes(pids) == proc.read_bytes(pids) == 0


def test_machine_counts_on():
    before = proc.machine()
    time.sleep(0.1)
    after = proc.machine()
    assert after.total > before.total
    assert after.busy >= before.busy


def test_machine_line_by_its_fields():
    found = proc.parse_machine("cpu 100 10 20 400 30 4 6 50 70 0\n")
    assert found.busy == pytest.approx(140 * proc.TICK)
    assert found.stolen == pytest.approx(50 * proc.TICK)
    assert found.total == pytest.approx(620 * proc.TICK)


def test_another_line_is_refused():
    with pytest.raises(ValueError, match="cpu0"):
        proc.parse_machine("cpu0 1 2 3 4 5 6 7 8")
