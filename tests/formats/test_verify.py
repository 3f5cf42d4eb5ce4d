"""verify_dataset: no byte may change unnoticed, and each fault is named."""

from __future__ import annotations

import json
import random

import pytest

from forebay.formats.dataset import open_dataset
from forebay.formats.errors import ChecksumMismatch, DatasetNotFound, NewerFormatError
from forebay.formats.verify import verify_dataset
from forebay.formats.writer import write_dataset

SMALL = {"shard_bytes": 4000, "block_bytes": 1000}


@pytest.fixture
def folder(making, tmp_path):
    making.write(tmp_path / "ds", 0, 50)
    making.write(tmp_path / "ds", 50, 60, append=True)
    return tmp_path / "ds"


def test_a_good_dataset_is_good(folder):
    done = []
    (folder / "notes.txt").write_text("mine")
    report = verify_dataset(folder, workers=2, progress=lambda a, b: done.append((a, b)))
    assert report.ok
    assert report.faults == ()
    assert (report.records, report.unchecked_records, report.foreign) == (60, 0, False)
    assert report.extra_files == ("notes.txt",)
    assert report.shards == len(done)
    assert done[-1] == (report.bytes, report.bytes)
    assert json.loads(json.dumps(report.to_json()))["ok"] is True
    assert open_dataset(folder).verify() == report


def flipped(folder, generator, names):
    path = folder / generator.choice(names)
    good = path.read_bytes()
    damaged = bytearray(good)
    at = generator.randrange(len(good))
    damaged[at] ^= generator.randrange(1, 256)
    path.write_bytes(damaged)
    return path, good


@pytest.mark.long
def test_no_flip_is_silent(folder):
    generator = random.Random(11)
    names = sorted(p.name for p in folder.iterdir())
    for _ in range(900):
        path, good = flipped(folder, generator, names)
        try:
            report = verify_dataset(folder, workers=1)
        except NewerFormatError:
            assert path.name == "forebay.json"
        else:
            assert not report.ok
            shard = path.name.split(".")[0]
            assert any(f.file.startswith(shard) or shard in f.what for f in report.faults)
        path.write_bytes(good)
    assert verify_dataset(folder).ok


def test_all_faults_are_listed(making, folder):
    table = open_dataset(folder).table
    for i in (0, 1, 2):
        path = folder / table.entry(i).file
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
    report = verify_dataset(folder)
    assert [f.file for f in report.faults] == [table.entry(i).file for i in (0, 1, 2)]
    assert all(f.block == 0 for f in report.faults)
    if making.format == "recordio":
        assert all(f.record == 0 for f in report.faults)
    assert "block 0" in str(report.faults[0])
    assert report.records < 60
    assert not report.to_json()["ok"]


def test_several_records_of_one_block_are_each_named(tmp_path):
    write_dataset(
        tmp_path, [{"n": i} for i in range(10)], {"n": "int64"}, format="recordio", codec="none"
    )
    path = tmp_path / "shard-00000.rec"
    data = bytearray(path.read_bytes())
    for record in (3, 7):
        data[record * 16 + 9] ^= 1
    path.write_bytes(data)
    report = verify_dataset(tmp_path)
    assert [(f.record, f.offset) for f in report.faults] == [(3, 48), (7, 112)]
    assert report.records == 8
    dataset = open_dataset(tmp_path)
    for i in (3, 7):
        with pytest.raises(ChecksumMismatch) as caught:
            dataset[i]
        assert caught.value.record == i
        with pytest.raises(ChecksumMismatch):
            dataset.__getitems__([0, i])
    good = [i for i in range(10) if i not in (3, 7)]
    assert dataset.__getitems__(good) == [{"n": i} for i in good]
    block = dataset.read(0)
    assert list(block.damaged) == [3, 7]
    assert block.columns["n"].values.tolist() == [0, 1, 2, 0, 4, 5, 6, 0, 8, 9]


def test_a_file_that_is_gone_or_short_is_named(folder):
    for path in sorted(folder.iterdir()):
        if path.name == "forebay.json":
            continue
        good = path.read_bytes()
        path.write_bytes(good[:-1])
        report = verify_dataset(folder)
        assert any(
            f.file == path.name and f"have {len(good) - 1} of {len(good)} bytes" in f.what
            for f in report.faults
        )
        path.unlink()
        report = verify_dataset(folder)
        assert any(f.file == path.name and "is missing" in f.what for f in report.faults)
        path.write_bytes(good)


def test_what_cannot_be_verified(tmp_path):
    with pytest.raises(DatasetNotFound):
        verify_dataset(tmp_path / "absent")
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        verify_dataset(tmp_path, workers=0)


def test_an_idx_that_disagrees_with_the_index_is_named(tmp_path):
    """As a writer with a fault of its own might make it: every check fits, the content does not."""
    import dataclasses
    from pathlib import Path

    from forebay.formats.builder import BlockBuilder
    from forebay.formats.codecs.none import NoCodec
    from forebay.formats.commit import commit
    from forebay.formats.record import Schema
    from forebay.formats.recordio.writer import RecordIOWriter
    from forebay.formats.shard import FileCheck
    from forebay.kernels.crc import crc32c

    schema = Schema.parse({"n": "int64"})
    staged = tmp_path / "staged"
    staged.mkdir()
    builder = BlockBuilder(schema)
    for i in range(3):
        builder.add({"n": i})
    writer = RecordIOWriter(Path(staged), "shard-00000", schema, NoCodec())
    block = builder.flush()
    assert block is not None
    writer.write(block)
    entry = writer.close()
    idx = staged / "shard-00000.idx"
    idx.write_bytes(idx.read_bytes().replace(b"1\t16", b"1\t20"))
    data = idx.read_bytes()
    entry = dataclasses.replace(entry, key_index=FileCheck(idx.name, len(data), crc32c(data)))
    folder = tmp_path / "ds"
    folder.mkdir()
    commit(folder, schema, "recordio", NoCodec().config, [(staged, entry)])
    report = verify_dataset(folder)
    assert [(f.file, f.record) for f in report.faults] == [("shard-00000.idx", 1)]
    assert "says offset 20, the index 16" in report.faults[0].what


def test_a_damaged_dictionary_hides_no_other_fault(tmp_path):
    """Faults of the dictionary and of the shards, whatever became of the dictionary."""
    records = [{"t": f"record {i} of a small text set, {i * 7919} " * 9} for i in range(900)]
    write_dataset(tmp_path, records, {"t": "text"}, format="recordio", **SMALL)
    (dictionary,) = [p for p in tmp_path.iterdir() if p.suffix == ".zdict"]
    shards = open_dataset(tmp_path).table
    assert len(shards) > 1, "the test needs a shard besides the first"
    path = tmp_path / shards.entry(1).file
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    good = dictionary.read_bytes()
    changed = bytes([good[0] ^ 1]) + good[1:]
    for bad in (changed, good[:-1], good + b"more", b"", None):
        dictionary.unlink()
        if bad is not None:
            dictionary.write_bytes(bad)
        report = verify_dataset(tmp_path)
        assert [f.file for f in report.faults] == [dictionary.name, path.name]
        assert "digest" in report.faults[1].what
        assert (report.shards, report.records) == (len(shards), 0)
        dictionary.write_bytes(good)
    (fault,) = verify_dataset(tmp_path).faults
    assert fault.record is not None
