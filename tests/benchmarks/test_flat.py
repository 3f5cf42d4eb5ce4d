"""The benchmark of growing datasets runs, counts every sample, and refuses what is not whole."""

import json

import numpy as np
import pytest

import forebay as fb
from forebay.benchmarks import flat


def test_it_counts_every_sample_of_every_size_and_order(capsys):
    assert flat.main(["--most", "10000", "--seconds", "0.05", "--rounds", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["plan"]["rounds"] == 2
    found = {(r["records"], r["order"]): r for r in printed["results"]}
    assert set(found) == {(n, o) for n in (1_000, 10_000) for o in ("full", "window")}
    for (records, _), result in found.items():
        assert result["epochs"] >= 2
        assert result["samples"] == result["epochs"] * records
        assert min(result["ns"], result["cpu_ns"], result["first_us"]) > 0


def test_datasets_are_kept_and_hold_what_they_say(tmp_path, capsys):
    assert flat.main(["--most", "1000", "--seconds", "0.01", "--data", str(tmp_path)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split("|")[1:3] for row in rows[2:]] == [
        [" 1,000 ", " full "],
        [" 1,000 ", " window "],
    ]
    dataset = fb.open_dataset(tmp_path / "1000", columns=["x", "ids"])
    pairs = [dataset[i] for i in range(1_000)]
    assert [int(x) for x, _ in pairs] == list(range(1_000))
    lengths = np.array([len(ids) for _, ids in pairs])
    assert (lengths.min(), lengths.max()) == flat.LENGTHS


def test_an_epoch_that_lacks_a_record_is_an_error(tmp_path):
    flat.write(tmp_path / "d", 1_000)
    case = flat.Case(tmp_path / "d", "window", flat.Plan(seconds=0.01))
    case.check()
    case.records = 1_001
    with pytest.raises(RuntimeError, match="1 never came"):
        case.check()
    with pytest.raises(RuntimeError, match="epochs of 1001 records gave"):
        case.measure()


def test_sizes_are_powers_of_ten():
    assert flat.sizes(1_000) == [1_000]
    assert flat.sizes(99_999) == [1_000, 10_000]
    with pytest.raises(ValueError, match="at least 1000, got 999"):
        flat.sizes(999)


def test_the_command_line_refuses_and_explains(capsys):
    with pytest.raises(SystemExit):
        flat.main(["--most", "10"])
    assert "--most must be at least 1000, got 10" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        flat.main(["--help"])
    assert left.value.code == 0
    assert "python -m benchmarks.flat --most" in capsys.readouterr().out
