"""Datasets of others: folders and files without a manifest."""

from __future__ import annotations

import dataclasses
import pickle
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forebay.formats.dataset import open_dataset
from forebay.formats.errors import DatasetError, DatasetNotFound, SchemaError, TruncatedShard
from forebay.formats.foreign import fingerprint_of, open_foreign
from forebay.formats.verify import verify_dataset


def parquet(path, start=0, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = columns or {"n": list(range(start, start + 5)), "t": [f"ü{i}" for i in range(5)]}
    pq.write_table(pa.table(columns), path, row_group_size=2)


def test_a_folder_as_the_hub_lays_it_out(tmp_path):
    for i in (1, 0):
        parquet(tmp_path / f"data/train-0000{i}-of-00002.parquet", i * 5)
    (tmp_path / "README.md").write_text("about")
    parquet(tmp_path / "_old/x.parquet", z=[1])
    parquet(tmp_path / ".cache/x.parquet", z=[1])
    dataset = open_dataset(tmp_path)
    assert dataset.foreign
    assert [s["n"] for s in dataset.__getitems__(range(10))] == list(range(10))
    assert len(dataset.blocks) == 6
    assert dataset.generation == 0
    assert "foreign parquet" in repr(dataset)
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy[6] == {"n": 6, "t": "ü1"}
    report = verify_dataset(tmp_path)
    assert report.ok
    assert report.foreign
    assert report.records == report.unchecked_records == 10
    assert report.unchecked_bytes > 0
    assert report.extra_files == ("README.md", "_old/x.parquet")


def test_one_file(tmp_path):
    parquet(tmp_path / "a.parquet")
    parquet(tmp_path / "b.parquet", z=[1.5])
    assert open_dataset(tmp_path / "a.parquet", columns=["t"])[1] == ("ü1",)
    (tmp_path / "a.parquet").rename(tmp_path / "without-suffix")
    assert len(open_dataset(tmp_path / "without-suffix")) == 5


def test_schemas_that_differ_name_both_files(tmp_path):
    parquet(tmp_path / "a.parquet", n=[1])
    parquet(tmp_path / "b.parquet", n=["text"])
    with pytest.raises(
        SchemaError, match=r"a\.parquet and b\.parquet.*field 'n' is int64\? and text\?"
    ):
        open_dataset(tmp_path)
    parquet(tmp_path / "b.parquet", m=[1])
    with pytest.raises(SchemaError, match="fields n and m"):
        open_dataset(tmp_path)


def test_fingerprints_follow_the_files(tmp_path):
    parquet(tmp_path / "a.parquet")
    first = open_dataset(tmp_path).fingerprint
    assert open_dataset(tmp_path).fingerprint == first
    parquet(tmp_path / "a.parquet", 1)
    second = open_dataset(tmp_path).fingerprint
    shutil.copy(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert len({first, second, open_dataset(tmp_path).fingerprint}) == 3


def test_a_fingerprint_follows_what_the_order_follows(tmp_path):
    parquet(tmp_path / "a.parquet")
    opened = open_foreign(tmp_path)
    entry = opened.table.entry(0)
    made = [entry, dataclasses.replace(entry)]
    for what in ("block_rows", "block_bytes", "block_memory"):
        made.append(dataclasses.replace(entry, **{what: getattr(entry, what) + 1}))
    found = [fingerprint_of(opened.source, opened.schema, [e]) for e in made]
    assert found[0] == found[1] == opened.fingerprint
    assert len(set(found)) == 4


def test_a_bare_rec(shared_data, tmp_path):
    source = shared_data / "recordio/sample.rec"
    shutil.copy(source, tmp_path / "one.rec")
    dataset = open_dataset(tmp_path)
    assert len(dataset) == 10
    alone = open_dataset(source)
    assert alone.__getitems__([3])[0]["label"] == dataset[3]["label"]
    assert pickle.loads(pickle.dumps(dataset))[9] == dataset[9]
    report = dataset.verify()
    assert (report.records, report.unchecked_records, report.ok) == (10, 10, True)
    data = source.read_bytes()
    (tmp_path / "one.rec").write_bytes(data[:-5])
    with pytest.raises(TruncatedShard, match=r"one\.rec"):
        open_dataset(tmp_path)


def test_both_formats_need_a_choice(shared_data, tmp_path):
    parquet(tmp_path / "a.parquet")
    shutil.copy(shared_data / "recordio/sample.rec", tmp_path / "b.rec")
    with pytest.raises(DatasetError, match="say which with format="):
        open_dataset(tmp_path)
    assert len(open_dataset(tmp_path, format="parquet")) == 5
    assert len(open_dataset(tmp_path, format="recordio")) == 10
    (tmp_path / "b.rec").unlink()
    with pytest.raises(DatasetNotFound, match=r"no \.rec file, but 'a.parquet'"):
        open_dataset(tmp_path, format="recordio")


def test_foreign_folders_have_no_generations(tmp_path):
    parquet(tmp_path / "a.parquet")
    with pytest.raises(DatasetError, match="has no generations"):
        open_dataset(tmp_path, generation=1)


def test_damage_that_a_page_checksum_covers_is_a_fault(shared_data, tmp_path):
    name = "datapage_v1-corrupt-checksum.parquet"
    shutil.copy(shared_data / "parquet" / name, tmp_path)
    report = verify_dataset(tmp_path)
    assert not report.ok
    assert report.faults[0].file == name
    assert report.faults[0].block == 0
