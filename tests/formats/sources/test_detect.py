from __future__ import annotations

import numpy as np
import pytest

from forebay.formats.errors import SourceError
from forebay.formats.sources.detect import detect
from forebay.formats.sources.source import SourceOptions


def _kind(path, **options):
    return detect(path, SourceOptions(**options)).kind


def test_kinds(tmp_path, tree, image_bytes):
    assert _kind(tree) == "image tree"
    flat = tmp_path / "flat"
    flat.mkdir()
    (flat / "a.png").write_bytes(image_bytes(0, "png"))
    assert _kind(flat) == "image list"
    for name, kind in [("t.csv", "CSV"), ("t.jsonl", "JSONL"), ("t.parquet", "Parquet")]:
        (tmp_path / name).write_text("a\n1\n")
        assert _kind(tmp_path / name) == kind
    np.save(tmp_path / "t.npy", np.arange(3))
    assert _kind(tmp_path / "t.npy") == "tokens"
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    assert _kind(tmp_path / "x.npy") == "arrays"


def test_missing(tmp_path):
    with pytest.raises(SourceError, match="no such file or folder"):
        _kind(tmp_path / "nope")


def test_empty(tmp_path):
    (tmp_path / ".hidden").write_text("x")
    with pytest.raises(SourceError, match="is empty"):
        _kind(tmp_path)


def test_images_and_tables(tree):
    (tree / "more.csv").write_text("file\n")
    with pytest.raises(SourceError, match=r"4 \.jpg, 1 \.jpeg, 1 \.csv|--labels"):
        _kind(tree)


def test_list_or_tree(tree, image_bytes):
    (tree / "loose.jpg").write_bytes(image_bytes(0))
    with pytest.raises(SourceError, match=r"1 images beside folders.*loose\.jpg"):
        _kind(tree)


def test_several_kinds(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "b.jsonl").write_text("{}")
    with pytest.raises(SourceError, match=r"1 \.csv, 1 \.jsonl"):
        _kind(tmp_path)


def test_unknown_file(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(SourceError, match="no kind of file"):
        _kind(tmp_path / "a.txt")
    with pytest.raises(SourceError, match=r"1 \.txt"):
        _kind(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"eos": 1}, "--eos"),
        ({"chunk_tokens": 5}, "--chunk-tokens"),
        ({"dtype": "int8"}, "--dtype"),
    ],
)
def test_options_that_say_nothing(tree, options, said):
    with pytest.raises(SourceError, match=said):
        _kind(tree, **options)


def test_labels_for_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match="--labels"):
        _kind(tmp_path / "a.csv", labels=tmp_path / "a.csv")
