"""What the loader tells, as plain frozen values."""

from __future__ import annotations

import dataclasses
import json

import pytest

from forebay.telemetry.stats import LoaderStats, StageStats

STAGE = StageStats("fetch", 3, 4, 500, 0.5, 0.1, 0.2)


def stats(**change):
    values = {
        "epochs": 1, "batches": 10, "samples": 640, "threads": 2, "wall_s": 8.0, "stall_s": 2.0,
        "first_batch_s": 0.5, "bytes_read": 500, "unchecked": 0, "budget_limit": 1000,
        "budget_peak": 900, "budget_overdrawn": 0, "budget_by_account": {"pool": 100},
        "stages": (STAGE,),
    }  # fmt: skip
    return LoaderStats(**values | change)


def test_shares_and_rates():
    assert stats().stall_share == 0.25
    assert stats().samples_per_s == 80.0


def test_nothing_has_happened_yet():
    empty = stats(wall_s=0.0, stall_s=0.0, samples=0)
    assert empty.stall_share == 0.0
    assert empty.samples_per_s == 0.0


def test_a_stage_by_name():
    assert stats().stage("fetch") is STAGE
    with pytest.raises(KeyError, match="no stage 'decode'; there are fetch"):
        stats().stage("decode")


def test_json_holds_everything():
    told = json.loads(json.dumps(stats().to_json()))
    assert set(told) == {f.name for f in dataclasses.fields(LoaderStats)} | {
        "stall_share",
        "samples_per_s",
    }
    assert told["stages"][0] == dataclasses.asdict(STAGE)
    assert told["budget_by_account"] == {"pool": 100}
    assert (told["stall_share"], told["samples_per_s"]) == (0.25, 80.0)


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        stats().samples = 1
