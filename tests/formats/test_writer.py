"""ShardWriter: what it writes, what it refuses, what it leaves behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from forebay.formats.column import Block, FixedColumn
from forebay.formats.dataset import open_dataset
from forebay.formats.errors import DatasetError, SchemaError, UnfinishedDataset
from forebay.formats.record import Schema
from forebay.formats.verify import verify_dataset
from forebay.formats.writer import ShardWriter, write_dataset


def files(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def test_the_same_records_give_the_same_bytes(making, tmp_path):
    for name in ("one", "two"):
        making.write(tmp_path / name)
        making.write(tmp_path / name, 60, 70, append=True)
    one = files(tmp_path / "one")
    assert one == files(tmp_path / "two")
    assert not [n for n in one if n.startswith(".")]


def test_shards_are_numbered_on_over_generations(making, tmp_path, same):
    first = making.write(tmp_path)
    before = files(tmp_path)
    second = making.write(tmp_path, 60, 75, append=True)
    making.write(tmp_path, 75, 76, append=True)
    after = files(tmp_path)
    assert {n: d for n, d in after.items() if n in before and n != "forebay.json"} == {
        n: d for n, d in before.items() if n != "forebay.json"
    }
    assert first.shards > 1
    assert second.last.parent == first.fingerprint
    ending = ".parquet" if making.format == "parquet" else ".rec"
    shards = [n for n in after if n.endswith(ending)]
    assert shards == [f"shard-{i:05d}{ending}" for i in range(len(shards))]
    assert {"shards.arrow", "shards-00002.arrow", "shards-00003.arrow"} <= set(after)
    for generation, length in ((1, 60), (2, 75), (3, 76), (None, 76)):
        dataset = open_dataset(tmp_path, generation=generation)
        assert len(dataset) == length
        samples = dataset.__getitems__(range(length))
        assert all(map(same, samples, making.records(0, length)))
    assert open_dataset(tmp_path, generation=1).fingerprint == first.fingerprint
    assert verify_dataset(tmp_path).ok


def test_columns_and_records_write_the_same(tmp_path):
    schema = Schema.parse({"n": "int64"})
    numbers = np.arange(1000)
    with ShardWriter(tmp_path / "a", schema, block_bytes=640, shard_bytes=3000) as writer:
        for start in range(0, 1000, 170):
            part = numbers[start : start + 170].copy()
            writer.write_columns(Block(len(part), {"n": FixedColumn(part)}, part.nbytes))
            part[:] = -1
    write_dataset(
        tmp_path / "b", ({"n": int(i)} for i in numbers), schema, block_bytes=640, shard_bytes=3000
    )
    assert files(tmp_path / "a") == files(tmp_path / "b")


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_no_record_makes_an_empty_dataset(tmp_path, format):
    manifest = write_dataset(tmp_path, [], {"n": "int64"}, format=format)
    assert (manifest.records, manifest.shards) == (0, 0)
    dataset = open_dataset(tmp_path)
    assert len(dataset) == 0
    assert dataset.__getitems__([]) == []
    assert "0 samples" in repr(dataset)
    assert dataset.verify().ok
    write_dataset(tmp_path, [{"n": 4}], {"n": "int64"}, append=True)
    assert open_dataset(tmp_path)[0] == {"n": 4}


def test_small_records_get_a_dictionary_and_large_ones_none(tmp_path):
    text = "the quick brown fox jumps over the lazy dog, and then some more of that"
    small = [{"t": f"{i} {text} {i * 7919}"} for i in range(2000)]
    large = [{"t": f"{i} {text} " * 100} for i in range(100)]
    for name, records in (("small", small), ("large", large)):
        write_dataset(tmp_path / name, records, {"t": "text"}, format="recordio")
    assert (tmp_path / "small/dictionary-00001.zdict").exists()
    assert not (tmp_path / "large/dictionary-00001.zdict").exists()
    write_dataset(tmp_path / "small", small[:5], {"t": "text"}, append=True)
    dataset = open_dataset(tmp_path / "small")
    assert dataset[2004] == small[4]
    assert dataset.manifest.codec == '{"dictionary":"dictionary-00001.zdict","id":"zstd","level":3}'
    assert len(dataset.manifest.dictionaries) == 1
    assert dataset.verify().ok


def test_an_exception_leaves_the_folder_as_it_was(making, tmp_path):
    def stopped(path, **options):
        def fail():
            with ShardWriter(path, {"n": "int64"}, block_bytes=8, **options) as writer:
                for i in range(50):
                    writer.write({"n": i})
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()

    new = tmp_path / "new"
    stopped(new)
    assert not new.exists()
    kept = tmp_path / "empty"
    kept.mkdir()
    stopped(kept)
    assert list(kept.iterdir()) == []
    write_dataset(kept, [{"n": 1}], {"n": "int64"})
    before = files(kept)
    stopped(kept, append=True)
    assert files(kept) == before


def test_a_refused_record_does_not_stop_the_writer(tmp_path):
    with ShardWriter(tmp_path, {"n": "int8"}, format="recordio") as writer:
        writer.write({"n": 1})
        with pytest.raises(SchemaError, match="record 1, field 'n': 500 does not fit int8"):
            writer.write({"n": 500})
        writer.write({"n": 2})
    assert [s["n"] for s in open_dataset(tmp_path).__getitems__([0, 1])] == [1, 2]


def test_a_closed_writer_takes_nothing(tmp_path):
    with ShardWriter(tmp_path, {"n": "int8"}, block_bytes=1, format="recordio") as writer:
        writer.write({"n": 1})
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write({"n": 1})


def test_destinations_that_are_refused(tmp_path):
    fields = {"n": "int64"}
    write_dataset(tmp_path / "ds", [{"n": 1}], fields, format="recordio", codec="none")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file.txt").write_text("x")
    (tmp_path / "packing/.pack").mkdir(parents=True)
    cases = [
        ("ds", {}, DatasetError, "already holds a dataset of 1 records"),
        ("other", {}, DatasetError, "not empty and not a dataset: it holds 'file.txt'"),
        ("other", {"append": True}, DatasetError, "not empty and not a dataset"),
        ("other/file.txt", {}, DatasetError, "is a file"),
        ("packing", {}, UnfinishedDataset, "run `forebay pack` again"),
        (
            "ds",
            {"append": True, "format": "parquet"},
            DatasetError,
            "with format parquet .*whose format is recordio",
        ),
        ("ds", {"append": True, "codec": "zstd"}, DatasetError, "with codec zstd"),
        ("ds", {"append": True, "level": 3}, DatasetError, "with level 3"),
        ("new", {"format": "csv"}, ValueError, "format must be parquet or recordio, got 'csv'"),
        ("new", {"codec": "lz4"}, ValueError, "codec must be zstd or none, got 'lz4'"),
        ("new", {"level": 0}, ValueError, "level must be 1 to 19, got 0"),
        ("new", {"level": 1, "codec": "none"}, ValueError, "says nothing to codec 'none'"),
        ("new", {"shard_bytes": 0}, ValueError, "shard_bytes must be at least 1, got 0"),
    ]
    for name, options, kind, said in cases:
        with pytest.raises(kind, match=said):
            ShardWriter(tmp_path / name, fields, **options)
    assert not (tmp_path / "new").exists()
    for other, said in (
        ({"m": "int64"}, "its fields are n, the new ones are m"),
        ({"n": "int32"}, "its field 'n' is int64, the new one int32"),
    ):
        with pytest.raises(SchemaError, match=said):
            ShardWriter(tmp_path / "ds", other, append=True)


def test_of_two_writers_that_append_one_is_refused(tmp_path):
    fields = {"n": "int64"}
    write_dataset(tmp_path, [{"n": 0}], fields)
    slow = ShardWriter(tmp_path, fields, append=True)
    slow.write({"n": 9})
    write_dataset(tmp_path, [{"n": 1}], fields, append=True)
    with pytest.raises(DatasetError, match=r"at generation 2, not at 1.*another writer came first"):
        slow.close()
    dataset = open_dataset(tmp_path)
    assert [s["n"] for s in dataset.__getitems__(range(2))] == [0, 1]
    assert dataset.verify().extra_files == ()


KILLED = """
import sys
from forebay.formats.writer import ShardWriter
print("go", flush=True)
while True:
    with ShardWriter(sys.argv[1], {"n": "int64", "t": "text"}, format=sys.argv[2],
                     block_bytes=500, shard_bytes=1500, append=True) as writer:
        for i in range(int(sys.argv[3]), int(sys.argv[3]) + 100):
            writer.write({"n": i, "t": "x" * (i % 50)})
    break
"""


@pytest.mark.long
@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_a_kill_leaves_the_dataset_or_none(tmp_path, format):
    random.seed(format)
    outcomes = []
    for attempt in range(12):
        folder = tmp_path / str(attempt % 4)
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(folder), format, str(attempt // 4 * 100)],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"go\n"
        time.sleep(random.random() * 0.12)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if (folder / "forebay.json").exists():
            assert verify_dataset(folder).ok
            outcomes.append(len(open_dataset(folder)) // 100)
        elif folder.exists() and any(folder.iterdir()):
            with pytest.raises(UnfinishedDataset, match="its writer is at work or was stopped"):
                open_dataset(folder)
            outcomes.append(-1)
    clean = tmp_path / "clean"
    write_dataset(clean, [{"n": 1, "t": ""}], {"n": "int64", "t": "text"}, format=format)
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        write_dataset(
            folder,
            [{"n": 1, "t": ""}],
            {"n": "int64", "t": "text"},
            format=None if (folder / "forebay.json").exists() else format,
            append=True,
        )
        report = verify_dataset(folder)
        assert report.ok
        assert report.extra_files == ()
        assert not [p for p in folder.iterdir() if p.name.startswith(".")]
        if len(open_dataset(folder)) == 1:
            assert files(folder) == files(clean)
    assert outcomes


@pytest.mark.long
@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_a_kill_at_every_step_of_the_commit(tmp_path, format):
    """A child is killed in the n-th rename; the next writer clears up and is undisturbed."""
    code = KILLED.replace(
        "import sys\n",
        "import os, signal, sys\n"
        "left = [int(sys.argv[4])]\n"
        "replace = os.replace\n"
        "def dying(*a):\n"
        "    left[0] -= 1\n"
        "    os.kill(os.getpid(), signal.SIGKILL) if left[0] < 0 else replace(*a)\n"
        "os.replace = dying\n",
    )
    clean = tmp_path / "clean"
    records = [{"n": i, "t": ""} for i in range(30)]
    write_dataset(clean, records, {"n": "int64", "t": "text"}, format=format)
    committed = 0
    for step in range(40):
        folder = tmp_path / f"step{step}"
        process = subprocess.run(
            [sys.executable, "-c", code, str(folder), format, "0", str(step)],
            check=False,
            capture_output=True,
        )
        committed = process.returncode == 0
        if committed:
            break
        assert process.returncode == -signal.SIGKILL
        with pytest.raises(UnfinishedDataset):
            open_dataset(folder)
        write_dataset(folder, records, {"n": "int64", "t": "text"}, format=format)
        assert files(folder) == files(clean)
    assert committed
    assert step > 3


def test_a_sweep_leaves_living_writers_alone(tmp_path):
    fields = {"n": "int64"}
    with ShardWriter(tmp_path, fields) as one:
        one.write({"n": 1})
        inside = [p for p in tmp_path.iterdir() if p.name.startswith(".forebay-write-")]
        assert len(inside) == 1
        other = ShardWriter(tmp_path, fields)
        assert inside[0].exists()
        other.abort()
        assert inside[0].exists()
    assert open_dataset(tmp_path)[0] == {"n": 1}
    assert os.listdir(tmp_path).count("forebay.json") == 1


def test_records_in_the_place_of_fields_are_not_printed_whole(tmp_path):
    with pytest.raises(SchemaError, match="non-empty dict") as error:
        write_dataset(tmp_path / "d", {"image": "jpeg"}, [{"image": bytes(100_000)}])
    assert len(str(error.value)) < 200
