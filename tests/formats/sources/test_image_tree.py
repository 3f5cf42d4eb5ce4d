from __future__ import annotations

import os
import pickle

import pytest

from forebay.formats.errors import SourceError
from forebay.formats.sources.detect import detect
from forebay.formats.sources.source import SourceOptions


def test_classes_and_bytes(tree, cut_of, rows_of):
    cut = cut_of(tree)
    assert cut.schema.names == ("image", "label")
    assert cut.schema["image"].spec == "jpeg"
    assert cut.schema["label"].classes == ("a", "b", "c", "empty")
    rows = rows_of(cut)
    files = ["a/0.jpg", "a/deep/er/0.jpg", "b/0.jpg", "b/1.JPEG", "c/x y.jpg"]
    assert [r["image"] for r in rows] == [(tree / f).read_bytes() for f in files]
    assert [r["label"] for r in rows] == [0, 0, 1, 1, 2]


def test_records_carry_the_files_names(tree, cut_of):
    records = [r for job in cut_of(tree).jobs for r in job.read()]
    assert [r["image"][1] for r in records][-1] == "c/x y.jpg"


@pytest.mark.parametrize(
    ("kinds", "spec"), [(["png"], "png"), (["jpeg", "png"], "image"), (["webp"], "image")]
)
def test_encoding_of_the_field(tmp_path, cut_of, image_bytes, kinds, spec):
    (tmp_path / "t" / "k").mkdir(parents=True)
    for i, kind in enumerate(kinds):
        # The suffix says nothing: what counts is in the file.
        (tmp_path / "t" / "k" / f"{i}.jpg").write_bytes(image_bytes(i, kind))
    assert cut_of(tmp_path / "t").schema["image"].spec == spec


def test_shards_by_size_and_shuffle(tree, cut_of, rows_of):
    size = max(p.stat().st_size for p in tree.rglob("*.jpg"))
    plain = rows_of(cut_of(tree, shard_bytes=size))
    assert len(cut_of(tree, shard_bytes=size).jobs) == 5
    assert len(cut_of(tree, shard_bytes=2 * size).jobs) == 3
    shuffled = [rows_of(cut_of(tree, seed=s)) for s in (0, 0, 1, 2, 3)]
    assert shuffled[0] == shuffled[1]
    assert any(s != shuffled[0] for s in shuffled[2:])
    for rows in shuffled:
        assert sorted(r["image"] for r in rows) == sorted(r["image"] for r in plain)
        assert {(r["image"], r["label"]) for r in rows} == {(r["image"], r["label"]) for r in plain}


def test_bad_files_are_named_and_counted(tree, cut_of, rows_of):
    (tree / "a" / "notes.txt").write_text("hello")
    (tree / "b" / "empty.jpg").write_bytes(b"")
    (tree / "c" / "gone.jpg").symlink_to(tree / "nowhere.jpg")
    os.mkfifo(tree / "c" / "pipe.jpg")
    with pytest.raises(SourceError, match=r"4 of 9 files.*notes\.txt: not an image.*--skip-bad"):
        cut_of(tree)
    cut = cut_of(tree, skip_bad=True)
    assert {r.name: r.why for r in cut.rejected} == {
        "a/notes.txt": "not an image",
        "b/empty.jpg": "empty file",
        "c/gone.jpg": "dangling link",
        "c/pipe.jpg": "not a regular file",
    }
    assert len(rows_of(cut)) == 5


def test_a_file_that_changes_is_an_error(tree, cut_of):
    cut = cut_of(tree)
    with open(tree / "b" / "0.jpg", "ab") as f:
        f.write(b"more")
    with pytest.raises(SourceError, match=r"b/0\.jpg changed"):
        list(cut.jobs[0].read())
    (tree / "a" / "0.jpg").unlink()
    with pytest.raises(SourceError, match=r"a/0\.jpg"):
        list(cut.jobs[0].read())


def test_digest_changes_with_every_input(tree):
    def digest() -> str:
        return detect(tree, SourceOptions()).digest

    first = digest()
    assert digest() == first
    os.utime(tree / "b" / "0.jpg", ns=(1, 1))
    touched = digest()
    (tree / "another").mkdir()
    renumbered = digest()
    (tree / "a" / "0.jpg").rename(tree / "a" / "1.jpg")
    assert len({first, touched, renumbered, digest()}) == 4


def test_jobs_pickle(tree, cut_of):
    job = cut_of(tree, seed=1).jobs[0]
    assert list(pickle.loads(pickle.dumps(job)).read()) == list(job.read())


def test_folder_inside_itself(tree, cut_of, rows_of):
    (tree / "a" / "loop").symlink_to(tree)
    (tree / "c" / "link").symlink_to(tree / "b")
    assert len(rows_of(cut_of(tree))) == 7


def test_an_image_beside_the_classes_is_named(tree, cut_of, image_bytes):
    (tree / "README").write_bytes(image_bytes(3))
    for skip_bad in (False, True):
        with pytest.raises(SourceError, match=r"1 images beside its class folders.*'README'"):
            cut_of(tree, skip_bad=skip_bad)


def test_a_name_that_is_not_utf8_is_rejected(tree, cut_of, image_bytes):
    name = os.fsdecode(b"a/caf\xe9.jpg")
    (tree / name).write_bytes(image_bytes(3))
    with pytest.raises(SourceError, match=r"1 of 6 files.*a/caf\\xe9\.jpg: its name is not UTF-8"):
        cut_of(tree)
    cut = cut_of(tree, skip_bad=True)
    assert [(r.name, r.why) for r in cut.rejected] == [
        (r"a/caf\xe9.jpg", "its name is not UTF-8; rename it")
    ]
    assert sum(j.records for j in cut.jobs) == 5


def test_every_file_bad_is_refused(tree, cut_of):
    for path in tree.rglob("*.*"):
        if path.is_file():
            path.write_text("no image")
    with pytest.raises(
        SourceError, match=r"nothing is left to pack: all 5 inputs are bad.*and 2 more"
    ):
        cut_of(tree, skip_bad=True)
