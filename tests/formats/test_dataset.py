"""open_dataset and ShardDataset: what they give and what they refuse at the door."""

from __future__ import annotations

import json
import os
import pickle
import random
import threading

import numpy as np
import pytest

from forebay.formats.block_cache import BlockCache
from forebay.formats.column import Block
from forebay.formats.dataset import open_dataset
from forebay.formats.errors import (
    DatasetError,
    DatasetNotFound,
    ForebayError,
    ManifestError,
    NewerFormatError,
    SchemaError,
    UnfinishedDataset,
)
from forebay.formats.shard import ReadTally
from forebay.formats.writer import write_dataset


@pytest.fixture
def folder(making, tmp_path):
    path = tmp_path / "a folder with späces"
    making.write(path)
    return path


def test_every_sample_comes_back(making, folder, same):
    dataset = open_dataset(folder)
    expected = making.records()
    assert len(dataset) == 60
    assert len(dataset.table) > 1
    assert len(dataset.blocks) > len(dataset.table)
    assert all(same(dataset[i], expected[i]) for i in range(60))
    assert same(dataset[-60], expected[0])
    assert same(dataset[np.int32(7)], expected[7])
    order = random.Random(1).choices(range(-60, 60), k=200)
    assert all(map(same, dataset.__getitems__(order), [expected[i] for i in order]))
    for wrong in (60, -61):
        with pytest.raises(IndexError, match=f"index {wrong} is out of range of 60 samples"):
            dataset[wrong]
    with pytest.raises(TypeError):
        dataset["n"]


def test_columns_choose_and_order(making, folder, same):
    dataset = open_dataset(folder, columns=["x", "größe"])
    record = making.record(9)
    assert same(dataset[9], (record["x"], record["größe"]))
    assert dataset.schema.names == ("x", "größe")
    assert open_dataset(folder, columns=("n",))[3] == (None,)
    with pytest.raises(SchemaError, match="no field 'y'; the fields are größe, n, x, ids, blob"):
        open_dataset(folder, columns=["y"])
    for wrong in ([], ["n", "n"]):
        with pytest.raises(ValueError, match="columns must name at least one field, none twice"):
            open_dataset(folder, columns=wrong)


def test_a_block_is_read_once_a_call(folder, monkeypatch):
    dataset = open_dataset(folder)
    reads = []
    read = dataset.read

    def counted(block, rows=None, tally=None):
        reads.append(block)
        return read(block, rows, tally)

    monkeypatch.setattr(dataset, "read", counted)
    dataset.__getitems__([59, 0, 58, 1, 0, 59])
    assert len(reads) == len(set(reads))
    if not dataset.record_readable:
        dataset.__getitems__([0, 1, 58])
        dataset[0]
        assert len(reads) == len(set(reads))


def test_blocks_and_their_cost(folder):
    dataset = open_dataset(folder)
    assert dataset.blocks.first_row[-1] == 60
    for b in range(len(dataset.blocks)):
        stored, memory = dataset.cost(b)
        tally = ReadTally()
        block = dataset.read(b, tally=tally)
        assert block.rows == dataset.blocks.rows[b]
        assert stored <= dataset.blocks.bytes[b]
        assert 0 < block.nbytes <= memory
        assert tally.bytes >= stored
        shard, inside = dataset.shard_of(b)
        assert shard.block_rows[inside] == block.rows
    if dataset.record_readable:
        some = dataset.read(0, np.array([1, 0]))
        assert some.rows == 2


def test_copies_and_children_read_the_same(making, folder, same):
    dataset = open_dataset(folder, columns=["blob"])
    dataset[0]
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.columns == ("blob",)
    assert same(copy[31], (making.record(31)["blob"],))
    assert copy.fingerprint == dataset.fingerprint
    child = os.fork()
    if child == 0:
        try:
            good = same(dataset[31], (making.record(31)["blob"],))
        except ForebayError:
            good = False
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_copy_keeps_its_generation(making, folder):
    dumped = pickle.dumps(open_dataset(folder))
    making.write(folder, 60, 61, append=True)
    assert len(pickle.loads(dumped)) == 60
    assert len(open_dataset(folder)) == 61
    for file in folder.iterdir():
        file.unlink()
    making.write(folder, 5, 65)
    with pytest.raises(ManifestError, match="is of another dataset than when this copy was made"):
        pickle.loads(dumped)


def test_threads_read_at_once(making, folder, same):
    dataset = open_dataset(folder)
    wrong = []

    def read(seed):
        for i in random.Random(seed).choices(range(60), k=100):
            if not same(dataset[i], making.record(i)):
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(s,)) for s in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_it_says_what_it_is(making, folder):
    dataset = open_dataset(folder / "forebay.json")
    text = repr(dataset)
    assert "60 samples" in text
    assert making.format in text
    assert "größe: text" in text
    assert dataset.generation == 1
    assert not dataset.foreign
    assert dataset.record_readable is (making.format == "recordio")


def test_every_byte_of_manifest_and_table_is_checked_at_the_door(making, folder):
    for name in ("forebay.json", "shards.arrow"):
        path = folder / name
        good = path.read_bytes()
        for at in range(0, len(good), 1 if name == "forebay.json" else 7):
            damaged = bytearray(good)
            damaged[at] ^= 1 << at % 8
            path.write_bytes(damaged)
            with pytest.raises((ManifestError, NewerFormatError)):
                open_dataset(folder)
        path.write_bytes(good)
    assert len(open_dataset(folder)) == 60


def test_files_that_are_missing_or_cut_short(folder):
    dataset = open_dataset(folder)
    shard = dataset.table.entry(1)
    path = folder / shard.file
    good = path.read_bytes()
    path.write_bytes(good[:-3])
    with pytest.raises(
        ManifestError, match=rf"{shard.file}.*have {len(good) - 3} of {len(good)} bytes"
    ):
        open_dataset(folder)
    path.unlink()
    with pytest.raises(ManifestError, match=f"{shard.file} is missing"):
        open_dataset(folder)
    path.write_bytes(good)
    beside = [f for f in folder.iterdir() if f.name.endswith((".idx", ".index.arrow", ".zdict"))]
    for file in [folder / "shards.arrow", *beside]:
        moved = file.rename(file.with_name("moved"))
        with pytest.raises(ManifestError, match=file.name):
            open_dataset(folder)
        moved.rename(file)


def test_a_table_of_another_dataset_is_refused(making, tmp_path):
    making.write(tmp_path / "a")
    making.write(tmp_path / "b", 1, 61)
    (tmp_path / "a/shards.arrow").write_bytes((tmp_path / "b/shards.arrow").read_bytes())
    with pytest.raises(ManifestError, match="shard table"):
        open_dataset(tmp_path / "a")


def test_a_damaged_dictionary_is_refused(tmp_path):
    records = [{"t": f"{i} the quick brown fox jumps over {i * 7919}"} for i in range(3000)]
    write_dataset(tmp_path, records, {"t": "text"}, format="recordio")
    path = tmp_path / "dictionary-00001.zdict"
    data = bytearray(path.read_bytes())
    data[99] ^= 4
    path.write_bytes(data)
    with pytest.raises(ManifestError, match=r"dictionary-00001.zdict is damaged: CRC-32C"):
        open_dataset(tmp_path)


def test_flips_in_shards_are_refused_when_they_are_read(making, folder, same):
    expected = making.records()
    names = sorted({f.name for f in folder.iterdir()} - {"forebay.json", "shards.arrow"})
    generator = random.Random(5)
    silent = 0
    for _ in range(400):
        path = folder / generator.choice(names)
        good = path.read_bytes()
        damaged = bytearray(good)
        damaged[generator.randrange(len(good))] ^= generator.randrange(1, 256)
        path.write_bytes(damaged)
        said = ""
        try:
            dataset = open_dataset(folder)
            samples = dataset.__getitems__(range(60))
        except ForebayError as e:
            said = str(e)
        if said:
            assert path.stem.split(".")[0] in said
        else:
            # Only bytes that no reader of ours reads may differ.
            assert all(map(same, samples, expected))
            silent += 1
        path.write_bytes(good)
    # .idx, and the parts of a Parquet file between chunks, are for other readers.
    assert silent < (200 if making.format == "recordio" else 40)


def test_what_is_not_a_dataset(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text/a.txt").write_text("hello")
    (tmp_path / "pack/.pack").mkdir(parents=True)
    (tmp_path / "writing/.forebay-write-1").mkdir(parents=True)
    cases = [
        ("absent", DatasetNotFound, "there is no dataset at .*absent"),
        ("empty", DatasetNotFound, "is an empty folder"),
        ("text", DatasetNotFound, r"no \.parquet or \.rec file, but 'a.txt'.*forebay pack"),
        ("text/a.txt", DatasetNotFound, "neither Parquet nor RecordIO"),
        ("pack", UnfinishedDataset, r"no forebay.json but \.pack"),
        ("writing", UnfinishedDataset, r"no forebay.json but \.forebay-write-1"),
    ]
    for name, kind, said in cases:
        with pytest.raises(kind, match=said):
            open_dataset(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        open_dataset(str(tmp_path / "absent"))
    with pytest.raises(DatasetNotFound, match="s3://bucket/x is not a local path"):
        open_dataset("s3://bucket/x")


def test_options_that_do_not_fit(making, folder):
    other = "parquet" if making.format == "recordio" else "recordio"
    with pytest.raises(DatasetError, match=f"is a dataset of {making.format}, not of {other}"):
        open_dataset(folder, format=other)
    with pytest.raises(ValueError, match="format must be parquet or recordio, got 'tar'"):
        open_dataset(folder, format="tar")
    with pytest.raises(ManifestError, match="no generation 2; the dataset has 1 to 1"):
        open_dataset(folder, generation=2)
    assert len(open_dataset(folder, format=making.format, generation=1)) == 60


def test_a_newer_version_is_said_to_be_newer(folder):
    path = folder / "forebay.json"
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "forebay": 7, "fields": "unknown"}))
    with pytest.raises(NewerFormatError, match="version 7, this forebay reads up to 1: upgrade"):
        open_dataset(folder)


def test_the_block_cache_stays_within_its_limit():
    cache = BlockCache(100)
    loads = []

    def get(i, nbytes=40):
        def load():
            loads.append(i)
            return Block(1, {}, nbytes)

        cache.get(i, load)
        assert cache.nbytes <= 100

    for i in (1, 2, 1, 3, 1, 2):
        get(i)
    assert loads == [1, 2, 3, 2]
    get(9, 101)
    get(9, 101)
    assert loads[-2:] == [9, 9]
    assert pickle.loads(pickle.dumps(cache)).nbytes == 0


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_a_lost_manifest_makes_no_foreign_dataset(tmp_path, format):
    write_dataset(tmp_path / "d", [{"a": i} for i in range(9)], {"a": "int64"}, format=format)
    (tmp_path / "d" / "forebay.json").unlink()
    with pytest.raises(ManifestError, match=r"shards.arrow and no forebay.json"):
        open_dataset(tmp_path / "d")


def test_a_relative_path_stays_when_the_program_moves(tmp_path, monkeypatch):
    write_dataset(tmp_path / "d", [{"a": 7}], {"a": "int64"})
    monkeypatch.chdir(tmp_path)
    dataset = open_dataset("d")
    monkeypatch.chdir("/")
    assert dataset[0] == {"a": 7}


def test_columns_are_no_string(tmp_path):
    write_dataset(tmp_path / "d", [{"ab": 7}], {"ab": "int64"})
    with pytest.raises(TypeError, match=r"columns=\['ab'\]"):
        open_dataset(tmp_path / "d", columns="ab")
