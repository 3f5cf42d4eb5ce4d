"""How many processors there are: affinity, cut by the cgroup's quota."""

from __future__ import annotations

import os

import pytest

from forebay.dataloader.flow import threads


@pytest.fixture
def quota(tmp_path, monkeypatch):
    """Says what cpu.max holds, on a machine of eight processors."""

    def say(text):
        file = tmp_path / "cpu.max"
        file.write_text(text)
        monkeypatch.setattr(threads, "CPU_MAX", file)

    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    return say


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("max 100000\n", 8),
        ("200000 100000\n", 2),
        ("350000 100000\n", 4),
        ("50000 100000\n", 1),
        ("1000 100000\n", 1),
        ("9900000 100000\n", 8),
        ("", 8),
        ("nonsense here\n", 8),
    ],
)
def test_quota_of_the_cgroup(quota, text, cpus):
    quota(text)
    assert threads.available_cpus() == cpus


def test_without_a_cgroup_affinity_decides(quota, tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "CPU_MAX", tmp_path / "absent")
    assert threads.available_cpus() == 8


def test_affinity_of_this_process():
    mine = os.sched_getaffinity(0)
    one = {min(mine)}
    try:
        os.sched_setaffinity(0, one)
        assert threads.available_cpus() == 1
    finally:
        os.sched_setaffinity(0, mine)
