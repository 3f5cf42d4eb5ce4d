"""Rounds, and real runs: one that counts, one that fails, one whose environment is absent."""

import shutil
from itertools import islice

import pytest

from forebay.benchmarks.peers import runner
from forebay.benchmarks.peers.child import endless
from forebay.benchmarks.peers.runner import Plan, compare, rounds
from forebay.benchmarks.peers.workloads import load

QUICK = Plan(repeats=1, tries=0, seconds=0.5, warm_seconds=0, warm_batches=1, limit_s=90)


def silent(line):
    """Says nothing."""


def test_each_round_takes_all_and_begins_with_another():
    found = list(rounds(["a", "b", "c"], 4))
    assert found == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]


def test_epochs_follow_one_another():
    assert list(islice(endless([1, 2]), 5)) == [1, 2, 1, 2, 1]


def test_an_empty_epoch_is_an_error_and_no_hang():
    with pytest.raises(ValueError, match="no batch"):
        next(endless([]))


def test_disturbed_runs_are_repeated_as_long_as_there_are_tries(monkeypatch, tmp_path):
    busy = {"dali": [8, 19, 19, 8, 8, 8], "spdl": [19] * 9, "torch-pillow": [8] * 9}
    turns = []

    def run_once(workload, peer, data, plan):
        turns.append(peer.name)
        machine = {"busy": busy[peer.name].pop(0), "stolen": 0, "total": 20}
        counted = {"samples": 1, "seconds": 1, "first_s": 1, "memory_bytes": 1}
        return counted | {"ours_s": 8, "machine": machine}

    monkeypatch.setattr(runner, "run_once", run_once)
    monkeypatch.setattr(runner, "ready", lambda environment: {})
    plan = Plan(repeats=2, tries=2)
    result = compare(load("images"), list(busy), tmp_path, plan, silent)
    counts = {name: len(runs) for name, runs in result["runs"].items()}
    assert counts == {"dali": 4, "spdl": 4, "torch-pillow": 2}
    assert turns[:6] == ["dali", "spdl", "torch-pillow", "spdl", "torch-pillow", "dali"]


@pytest.mark.long
def test_a_peer_is_measured(shared_data, tmp_path):
    photos = sorted((shared_data / "imagenet-sample").glob("*.JPEG"))[:64]
    (tmp_path / "files" / "0").mkdir(parents=True)
    for i, photo in enumerate(photos):
        for copy in range(2):
            shutil.copy(photo, tmp_path / "files" / "0" / f"{copy:02d}-{i:04d}.jpg")
    result = compare(load("images"), ["torch-pillow"], tmp_path, QUICK, silent)
    assert result["skipped"] == {}
    (run,) = result["runs"]["torch-pillow"]
    assert run["delivered"] == 64
    assert run["samples"] == 64 * run["batches"] > 0
    assert run["seconds"] >= 0.5
    assert 0 < run["cpu_s"] <= run["machine"]["busy"] + 1
    assert run["read_bytes"] > sum(p.stat().st_size for p in photos[:32])
    # torch in the consumer and in its workers.
    assert run["memory_bytes"] > 200e6


def test_a_peer_that_fails_is_skipped_with_its_words(tmp_path):
    result = compare(load("tables"), ["floor-slicing"], tmp_path, QUICK, silent)
    assert result["runs"] == {}
    assert "FileNotFoundError" in result["skipped"]["floor-slicing"]


def test_a_peer_that_hangs_is_ended(tmp_path):
    plan = Plan(repeats=1, tries=0, limit_s=0.3)
    result = compare(load("tables"), ["floor-slicing"], tmp_path, plan, silent)
    assert "no result after 0.3 s" in result["skipped"]["floor-slicing"]


def test_a_peer_without_its_environment_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_PEERS", str(tmp_path))
    result = compare(load("images"), ["dali"], tmp_path, QUICK, silent)
    assert result == {"runs": {}, "skipped": {"dali": "run scripts/peers dali"}}
    (tmp_path / "dali").mkdir()
    (tmp_path / "dali" / "failed.txt").write_text("pip install failed: no wheel\n")
    result = compare(load("images"), ["dali"], tmp_path, QUICK, silent)
    assert result["skipped"] == {"dali": "pip install failed: no wheel"}
