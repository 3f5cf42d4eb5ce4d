"""Listing a folder: every file once, however the links in it run."""

from __future__ import annotations

import pytest

from forebay.formats.errors import DatasetNotFound
from forebay.formats.storage.local import LocalSource


def keys(root, prefix=""):
    return [f.key for f in LocalSource(root).list(prefix)]


@pytest.mark.timeout(20)
def test_a_link_to_a_folder_above_is_passed_over(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "a" / "two").write_bytes(b"22")
    (tmp_path / "x").symlink_to(".")
    (tmp_path / "y").symlink_to(tmp_path)
    (tmp_path / "a" / "b" / "up").symlink_to("..")
    (tmp_path / "a" / "b" / "top").symlink_to("../..")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    files = LocalSource(tmp_path).list()
    assert [(f.key, f.size) for f in files] == [("a/two", 2), ("one", 1)]


def test_links_to_folders_elsewhere_are_followed(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "f").write_bytes(b"f")
    root = tmp_path / "root"
    root.mkdir()
    for name in ("p", "q"):
        (root / name).symlink_to(tmp_path / "far")
    assert keys(root) == ["p/f", "q/f"]
    assert keys(root, "q/") == ["q/f"]


def test_hidden_folders_are_left_out_and_hidden_files_are_not(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "f").write_bytes(b"")
    (tmp_path / ".f").write_bytes(b"")
    assert keys(tmp_path) == [".f"]


def test_no_folder(tmp_path):
    with pytest.raises(DatasetNotFound, match="no such folder"):
        keys(tmp_path / "absent")
