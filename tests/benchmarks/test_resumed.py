"""The benchmark of going on from a cursor runs, and refuses what is no size."""

import json

import pytest

from forebay.benchmarks import flat, resumed


def test_it_measures_every_size_and_order(tmp_path, capsys):
    told = ["--records", "1000,5000", "--rounds", "2", "--data", str(tmp_path), "--json"]
    assert resumed.main(told) == 0
    found = {(r["records"], r["order"]): r for r in json.loads(capsys.readouterr().out)}
    assert set(found) == {(n, o) for n in (1_000, 5_000) for o in flat.ORDERS}
    for result in found.values():
        assert result["ratio"] == pytest.approx(result["middle_ms"] / result["beginning_ms"])
        assert 0 < result["state_bytes"] < 4096


@pytest.mark.parametrize("wrong", ["1000,x", "0", ""])
def test_what_is_no_size_is_refused(wrong, capsys):
    with pytest.raises(SystemExit) as e:
        resumed.main(["--records", wrong])
    assert e.value.code == 2
    assert "--records" in capsys.readouterr().err
