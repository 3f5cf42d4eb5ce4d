"""Datasets of format version 1 as they were written when it landed: readable for ever."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from forebay.formats.dataset import open_dataset
from forebay.formats.verify import verify_dataset

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
PARQUET_MADE_WITH = "26"


def maker():
    spec = importlib.util.spec_from_file_location("make_dataset", GOLDEN / "make_dataset.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = maker()


@pytest.mark.parametrize("case", MAKER.CASES, ids="-".join)
def test_it_still_reads(case):
    folder = GOLDEN / "dataset" / "-".join(case)
    dataset = open_dataset(folder)
    assert len(dataset) == 30
    assert dataset.generation == 2
    assert len(open_dataset(folder, generation=1)) == 25
    for i in range(30):
        found = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in dataset[i].items()}
        assert found == MAKER.record(i)
    report = verify_dataset(folder)
    assert report.ok
    assert report.extra_files == ()


@pytest.mark.parametrize("case", MAKER.CASES, ids="-".join)
def test_writing_it_again_gives_the_same_bytes(case, tmp_path):
    if pa.__version__.split(".")[0] != PARQUET_MADE_WITH:
        pytest.skip(f"Arrow {pa.__version__} may write other bytes than the version that made them")
    folder = GOLDEN / "dataset" / "-".join(case)
    MAKER.make(tmp_path / "ds", *case)
    golden = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert {p.name: p.read_bytes() for p in (tmp_path / "ds").iterdir()} == golden
