"""The benchmark of threads runs, and refuses what holds no images."""

import io
import json

import numpy as np
import PIL.Image
import pytest

import forebay as fb
from forebay.benchmarks import scaling


def jpeg(i):
    out = io.BytesIO()
    pixels = np.random.default_rng(i).integers(0, 256, (40, 50, 3), np.uint8)
    PIL.Image.fromarray(pixels).save(out, "JPEG")
    return out.getvalue()


@pytest.fixture
def packed(tmp_path):
    records = [{"image": jpeg(i), "label": i} for i in range(70)]
    fb.write_dataset(tmp_path / "d", records, {"image": "jpeg", "label": "int64"})
    return str(tmp_path / "d")


def test_each_number_of_threads_has_a_row(packed, capsys):
    options = ["--threads", "1,3", "--rounds", "2", "--seconds", "0.05"]
    assert scaling.main([packed, *options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [r["threads"] for r in rows] == [1, 3]
    assert rows[0]["speedup"] == 1.0
    assert rows[1]["speedup"] == rows[1]["rate"] / rows[0]["rate"]
    assert min(r["cpu_us"] for r in rows) > 0
    assert scaling.main([packed, *options]) == 0
    assert capsys.readouterr().out.startswith("| threads | images/s |")


def test_what_it_refuses(tmp_path, capsys):
    fb.write_dataset(tmp_path / "d", [{"x": 1}], {"x": "int64"})
    with pytest.raises(ValueError, match=r"one image field, has \[\]"):
        scaling.main([str(tmp_path / "d")])
    with pytest.raises(SystemExit):
        scaling.main([str(tmp_path / "d"), "--threads", "0"])
    assert "--threads" in capsys.readouterr().err
