from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from forebay.formats.column import row_at
from forebay.formats.dataset import open_dataset
from forebay.formats.destination import WriteOptions
from forebay.formats.errors import (
    DatasetError,
    SchemaError,
    SourceError,
    StorageError,
    UnfinishedDataset,
)
from forebay.formats.pack.options import PackOptions
from forebay.formats.pack.packing import Running, pack
from forebay.formats.sources.source import SourceOptions
from forebay.formats.verify import verify_dataset
from forebay.formats.writer import write_dataset

SMALL = PackOptions(shard_bytes=6000, block_bytes=1500)
ALONE = Running(workers=1)


def _rows(path):
    ds = open_dataset(path)
    return [dict(zip(ds.schema.names, row_at(ds.schema, ds.read(b), i), strict=True))
            for b in range(len(ds.blocks.rows)) for i in range(int(ds.blocks.rows[b]))]  # fmt: skip


class StopAt:
    """Stands in for a user who presses Ctrl-C once so many shards are done."""

    def __init__(self, shards):
        self.shards = shards

    def __call__(self, progress):
        if progress.shards >= self.shards:
            raise KeyboardInterrupt


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_thousand_photos_are_kept_byte_for_byte(shared_data, tmp_path, format):
    folder = shared_data / "imagenet-sample"
    options = PackOptions(write=WriteOptions(format), images="keep", shard_bytes=32 << 20)
    report = pack(folder, tmp_path / "d", options, Running(workers=2))
    assert (report.records, report.shards, report.skipped) == (1000, 4, ())
    assert (report.images, report.image_fates) == ("keep", {})
    assert report.codec == ('{"id":"none"}' if format == "recordio" else '{"id":"zstd","level":3}')
    found = sorted(r["image"] for r in _rows(tmp_path / "d"))
    assert found == sorted(p.read_bytes() for p in folder.iterdir())
    assert verify_dataset(tmp_path / "d").ok
    assert not (tmp_path / "d" / ".pack").exists()


@pytest.mark.parametrize("format", ["parquet", "recordio"])
@pytest.mark.parametrize("codec", ["zstd", "none"])
def test_labels_follow_their_images(tree, tmp_path, format, codec):
    options = replace(SMALL, write=WriteOptions(format, codec), images="keep")
    report = pack(tree, tmp_path / "d", options, ALONE)
    assert report.source == "image tree"
    rows = _rows(tmp_path / "d")
    for row in rows:
        files = [p for p in tree.rglob("*.jpg") if p.read_bytes() == row["image"]]
        assert [p.parent.name for p in files] == [f"class{row['label']}"]
    labels = [r["label"] for r in rows]
    assert labels != sorted(labels)
    assert verify_dataset(tmp_path / "d").ok


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_workers_change_no_byte(tree, tmp_path, same, format):
    options = replace(SMALL, write=WriteOptions(format))
    for workers in (1, 2, 3):
        report = pack(tree, tmp_path / str(workers), options, Running(workers=workers))
        assert report.shards > 5
    assert same(tmp_path / "1", tmp_path / "2")
    assert same(tmp_path / "1", tmp_path / "3")


def test_seed_and_order(tree, tmp_path):
    prints = {}
    for name, options in {
        "default": SMALL,
        "zero": replace(SMALL, seed=0, order="shuffled"),
        "one": replace(SMALL, seed=1),
        "source": replace(SMALL, order="source"),
    }.items():
        prints[name] = pack(tree, tmp_path / name, options, ALONE).fingerprint
    assert prints["default"] == prints["zero"]
    assert len(set(prints.values())) == 3
    labels = [r["label"] for r in _rows(tmp_path / "source")]
    assert labels == sorted(labels)


@pytest.mark.parametrize("stop", [1, 4, 7])
@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_and_resumed(tree, tmp_path, same, stop, workers):
    pack(tree, tmp_path / "whole", SMALL, ALONE)
    running = Running(workers=workers, progress=StopAt(stop))
    with pytest.raises(KeyboardInterrupt):
        pack(tree, tmp_path / "d", SMALL, running)
    with pytest.raises(UnfinishedDataset):
        open_dataset(tmp_path / "d")
    report = pack(tree, tmp_path / "d", SMALL, Running(workers=workers))
    assert report.shards_reused >= stop
    assert report.records == 60
    assert same(tmp_path / "whole", tmp_path / "d")


def test_a_lost_shard_is_written_again(tree, tmp_path, same):
    pack(tree, tmp_path / "whole", SMALL, ALONE)
    with pytest.raises(KeyboardInterrupt):
        pack(tree, tmp_path / "d", SMALL, Running(workers=1, progress=StopAt(5)))
    shards = sorted((tmp_path / "d" / ".pack").glob("run-*/*.parquet"))
    shards[0].unlink()
    os.truncate(shards[1], 10)
    report = pack(tree, tmp_path / "d", SMALL, ALONE)
    assert report.shards_reused == 3
    assert same(tmp_path / "whole", tmp_path / "d")


def test_other_options_or_inputs_are_refused(tree, tmp_path, same):
    def stopped():
        with pytest.raises(KeyboardInterrupt):
            pack(tree, tmp_path / "d", SMALL, Running(workers=1, progress=StopAt(3)))

    stopped()
    with pytest.raises(UnfinishedDataset, match=r"seed was 0, now 5.*--restart or remove"):
        pack(tree, tmp_path / "d", replace(SMALL, seed=5), ALONE)
    os.utime(tree / "class0" / "0000.jpg", ns=(5, 5))
    with pytest.raises(UnfinishedDataset, match="inputs was"):
        pack(tree, tmp_path / "d", SMALL, ALONE)
    report = pack(tree, tmp_path / "d", SMALL, Running(workers=1, restart=True))
    assert report.shards_reused == 0
    pack(tree, tmp_path / "whole", SMALL, ALONE)
    assert same(tmp_path / "whole", tmp_path / "d")


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_append(tree, tmp_path, format):
    more = tmp_path / "more"
    for i, file in enumerate(sorted(tree.rglob("*.jpg"))[:12]):
        path = more / f"class{i % 3}" / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.read_bytes())
    options = replace(SMALL, write=WriteOptions(format, append=True))
    first = pack(tree, tmp_path / "d", options, ALONE)
    before = _rows(tmp_path / "d")
    with pytest.raises(DatasetError, match="--append"):
        pack(more, tmp_path / "d", SMALL, ALONE)
    stopping = Running(workers=1, progress=StopAt(1))
    with pytest.raises(KeyboardInterrupt):
        pack(more, tmp_path / "d", replace(SMALL, write=WriteOptions(append=True)), stopping)
    assert len(open_dataset(tmp_path / "d")) == 60
    # Format and codec come from the dataset that is there.
    second = pack(more, tmp_path / "d", replace(SMALL, write=WriteOptions(append=True)), ALONE)
    assert (first.generation, second.generation, second.records) == (1, 2, 12)
    assert second.shards_reused >= 1
    rows = _rows(tmp_path / "d")
    assert rows[:60] == before
    assert len(rows) == 72
    assert verify_dataset(tmp_path / "d").ok
    assert len(open_dataset(tmp_path / "d", generation=1)) == 60


def test_append_of_other_things(tree, tmp_path):
    pack(tree, tmp_path / "d", SMALL, ALONE)
    before = sorted(p.name for p in (tmp_path / "d").iterdir())
    again = replace(SMALL, write=WriteOptions(append=True))
    (tree / "class9").mkdir()
    with pytest.raises(SchemaError, match=r"3 classes"):
        pack(tree, tmp_path / "d", again, ALONE)
    with pytest.raises(DatasetError, match="format"):
        pack(tree, tmp_path / "d", replace(SMALL, write=WriteOptions("recordio", append=True)))
    with pytest.raises(DatasetError, match="codec"):
        pack(tree, tmp_path / "d", replace(SMALL, write=WriteOptions(codec="none", append=True)))
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == before


def test_bad_input_leaves_nothing(tree, tmp_path):
    (tree / "class1" / "bad.jpg").write_text("no image")
    with pytest.raises(SourceError, match="1 of 61 files"):
        pack(tree, tmp_path / "d", SMALL, ALONE)
    assert not (tmp_path / "d").exists()
    (tmp_path / "e").mkdir()
    with pytest.raises(SourceError):
        pack(tree, tmp_path / "e", SMALL, ALONE)
    assert list((tmp_path / "e").iterdir()) == []
    report = pack(tree, tmp_path / "d", replace(SMALL, source=SourceOptions(skip_bad=True)), ALONE)
    assert [r.name for r in report.skipped] == ["class1/bad.jpg"]
    assert report.records == 60


@pytest.mark.parametrize("order", ["source", "shuffled"])
@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_tables(tmp_path, same, order, format):
    text = "id,text\n" + "".join(f"{i},{'word ' * (i % 9)}{i}x\n" for i in range(5000))
    (tmp_path / "t.csv").write_text(text)
    options = replace(SMALL, order=order, write=WriteOptions(format), shard_bytes=20_000)
    with pytest.raises(KeyboardInterrupt):
        pack(tmp_path / "t.csv", tmp_path / "d", options, Running(workers=1, progress=StopAt(3)))
    report = pack(tmp_path / "t.csv", tmp_path / "d", options, Running(workers=2))
    assert report.shards_reused >= 3
    assert report.shards > 5
    assert ("dictionary" in report.codec) == (format == "recordio")
    rows = _rows(tmp_path / "d")
    ids = [r["id"] for r in rows]
    assert sorted(ids) == list(range(5000))
    assert (ids == list(range(5000))) == (order == "source")
    assert all(r["text"] == f"{'word ' * (r['id'] % 9)}{r['id']}x" for r in rows)
    assert verify_dataset(tmp_path / "d").ok
    pack(tmp_path / "t.csv", tmp_path / "whole", options, ALONE)
    assert same(tmp_path / "whole", tmp_path / "d")


def test_tokens(tmp_path):
    np.save(tmp_path / "t.npy", np.arange(100_000) % 50_000)
    options = PackOptions(source=SourceOptions(eos=0, chunk_tokens=10_000), shard_bytes=60_000)
    report = pack(tmp_path / "t.npy", tmp_path / "d", options, ALONE)
    assert (report.records, report.shards) == (10, 4)
    rows = _rows(tmp_path / "d")
    assert np.concatenate([r["tokens"] for r in rows]).tolist() == [
        i % 50_000 for i in range(100_000)
    ]
    assert [r["documents"].tolist() for r in rows][:6] == [[0, 1], [], [], [], [], [1]]


def test_only_one_pack_at_a_time(tree, tmp_path):
    other: list[Exception] = []

    def again(progress):
        if not other:
            with pytest.raises(UnfinishedDataset, match="another pack") as caught:
                pack(tree, tmp_path / "d", SMALL, ALONE)
            other.append(caught.value)

    pack(tree, tmp_path / "d", SMALL, Running(workers=1, progress=again))
    assert other


@pytest.mark.parametrize("where", [".", "out", "..", "class0"])
def test_destination_inside_the_source(tree, where):
    with pytest.raises((SourceError, DatasetError)):
        pack(tree, tree / where, SMALL, ALONE)
    assert sorted(p.name for p in tree.iterdir()) == ["class0", "class1", "class2"]


def test_destination_with_other_things(tree, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "thesis.tex").write_text("precious")
    with pytest.raises(DatasetError, match=r"thesis\.tex"):
        pack(tree, tmp_path / "d", SMALL, ALONE)
    with pytest.raises(DatasetError, match=r"thesis\.tex"):
        pack(tree, tmp_path / "d", SMALL, Running(workers=1, restart=True))
    assert (tmp_path / "d" / "thesis.tex").read_text() == "precious"
    with pytest.raises(DatasetError, match="is a file"):
        pack(tree, tmp_path / "d" / "thesis.tex", SMALL, ALONE)


def test_progress_ends_at_the_total(tree, tmp_path):
    seen = []
    pack(tree, tmp_path / "d", SMALL, Running(workers=2, progress=seen.append))
    assert (seen[-1].records, seen[-1].total_records) == (60, 60)
    assert seen[-1].bytes == seen[-1].total_bytes
    assert [p.records for p in seen] == sorted(p.records for p in seen)


@pytest.mark.parametrize(
    "options",
    [
        {"order": "random"},
        {"seed": -1},
        {"images": "tiff"},
        {"images": "keep", "keep_metadata": True},
        {"resize": 5, "keep_metadata": True},
        {"resize": 0},
        {"quality": 50},
        {"resize": 5, "quality": 101},
        {"shard_bytes": 0},
        {"source": SourceOptions(chunk_tokens=0)},
    ],
)
def test_options(options):
    with pytest.raises(ValueError, match=r"must be|say resize|leave keep-metadata out"):
        PackOptions(**options)


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_when_every_shard_was_done(tree, tmp_path, same, workers):
    report = pack(tree, tmp_path / "whole", SMALL, ALONE)
    stop = Running(workers=1, progress=StopAt(report.shards))
    with pytest.raises(KeyboardInterrupt):
        pack(tree, tmp_path / "d", SMALL, stop)
    again = pack(tree, tmp_path / "d", SMALL, Running(workers=workers))
    assert again.shards_reused == again.shards == report.shards
    assert same(tmp_path / "whole", tmp_path / "d")


def _stopped_append(more, folder, shards=1):
    again = replace(SMALL, write=WriteOptions(append=True))
    with pytest.raises(KeyboardInterrupt):
        pack(more, folder, again, Running(workers=1, progress=StopAt(shards)))
    return again


def test_a_writer_leaves_a_stopped_append_alone(tree, tmp_path, make):
    pack(tree, tmp_path / "d", SMALL, ALONE)
    again = _stopped_append(make(tmp_path / "more", 3, 60), tmp_path / "d")
    schema = open_dataset(tmp_path / "d").schema
    with pytest.raises(UnfinishedDataset, match=r"runs or was stopped.*remove .*\.pack"):
        write_dataset(tmp_path / "d", [], schema, append=True)
    assert pack(tmp_path / "more", tmp_path / "d", again, ALONE).shards_reused == 1
    assert len(open_dataset(tmp_path / "d")) == 63


def test_an_append_that_another_writer_overtook_is_not_lost_in_silence(tree, tmp_path, make):
    pack(tree, tmp_path / "d", SMALL, ALONE)
    again = _stopped_append(make(tmp_path / "more", 3, 60), tmp_path / "d")
    # A writer that began before the pack did, and ends before it is run again.
    (tmp_path / "d" / ".pack").rename(tmp_path / "aside")
    schema = open_dataset(tmp_path / "d").schema
    record = {"image": (tree / "class0" / "0000.jpg").read_bytes(), "label": 0}
    write_dataset(tmp_path / "d", [record], schema, append=True)
    (tmp_path / "aside").rename(tmp_path / "d" / ".pack")
    with pytest.raises(DatasetError, match="another writer came first"):
        pack(tmp_path / "more", tmp_path / "d", again, ALONE)
    report = pack(tmp_path / "more", tmp_path / "d", again, ALONE)
    assert (report.generation, report.records) == (3, 3)
    assert len(open_dataset(tmp_path / "d")) == 64
    assert verify_dataset(tmp_path / "d").ok


class FailAt:
    """Puts files that fail in the place of a tree's, once so many shards are done."""

    def __init__(self, tree, shards, put):
        self.tree, self.shards, self.put = tree, shards, put
        self.done = False

    def __call__(self, progress):
        if not self.done and progress.shards >= self.shards:
            self.done = True
            self.tree.rename(self.tree.with_name("whole"))
            for path in sorted(self.tree.with_name("whole").rglob("*.jpg")):
                bad = self.tree / path.parent.name / path.name
                bad.parent.mkdir(parents=True, exist_ok=True)
                self.put(bad)

    def undo(self):
        shutil.rmtree(self.tree)
        self.tree.with_name("whole").rename(self.tree)


@pytest.mark.parametrize(
    ("put", "error", "said"),
    [
        (lambda p: p.symlink_to("/proc/self/mem"), StorageError, "Input/output error"),
        (
            lambda p: p.write_bytes(b"short"),
            SourceError,
            r"changed while it was packed.*kept in .*\.pack: the same command goes on",
        ),
    ],
)
@pytest.mark.parametrize("append", [False, True])
def test_a_late_error_keeps_what_is_finished(tree, tmp_path, same, make, put, error, said, append):
    options = replace(SMALL, write=WriteOptions(append=append))
    for name in ("d", "undisturbed"):
        if append:
            pack(make(tmp_path / "old", 6, 90), tmp_path / name, SMALL, ALONE)
    pack(tree, tmp_path / "undisturbed", options, ALONE)
    fail = FailAt(tree, 4, put)
    with pytest.raises(error, match=said):
        pack(tree, tmp_path / "d", options, Running(workers=1, progress=fail))
    fail.undo()
    report = pack(tree, tmp_path / "d", options, ALONE)
    assert report.shards_reused == 4
    assert same(tmp_path / "d", tmp_path / "undisturbed")


def _refuse(data):
    raise SourceError("no picture")


def test_nothing_left_after_reencoding(tree, tmp_path):
    options = replace(SMALL, resize=5, source=SourceOptions(skip_bad=True))
    with pytest.raises(SourceError, match=r"nothing is left to pack: all 60 inputs are bad"):
        pack(tree, tmp_path / "d", options, Running(workers=1, reencode=_refuse))
    assert not (tmp_path / "d").exists()
