from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from forebay.formats.dataset import open_dataset
from forebay.formats.verify import verify_dataset
from forebay.kernels.jpeg_transcode import available
from forebay.tools.pack import pack

SCRIPT = """
import typer
from forebay.tools.pack import pack

if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(pack)
    app()
"""


@pytest.fixture
def run():
    """run(*arguments): the command in this process, one worker unless told otherwise."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(pack)

    def run(*arguments):
        given = [str(a) for a in arguments]
        if "--workers" not in given and "--help" not in given:
            given += ["--workers", "1"]
        return CliRunner().invoke(app, given)

    return run


def _jpeg(seed, size=10):
    pixels = np.random.default_rng(seed).integers(0, 256, (size, size, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG")
    return out.getvalue()


@pytest.fixture
def tree(tmp_path):
    for i in range(40):
        path = tmp_path / "tree" / f"class{i % 2}" / f"{i:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_jpeg(i))
    return tmp_path / "tree"


def test_one_line_and_a_dataset(run, tree, tmp_path):
    done = run(tree, tmp_path / "d")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert done.stdout.startswith("packed 40 records from image tree into ")
    assert done.stdout.count("\n") == 1
    assert len(open_dataset(tmp_path / "d")) == 40
    assert verify_dataset(tmp_path / "d").ok


def test_json(run, tree, tmp_path):
    (tree / "class0" / "bad.jpg").write_text("hello")
    arguments = ("--skip-bad", "--json", "--format", "recordio", "--shard-bytes", "5KB")
    report = json.loads(run(tree, tmp_path / "d", *arguments).stdout)
    assert report["records"] == 40
    assert report["format"] == "recordio"
    assert report["codec"] == '{"id":"none"}'
    assert report["shards"] > 3
    assert report["skipped"] == [{"name": "class0/bad.jpg", "why": "not an image"}]


def test_help_has_an_example(run):
    text = run("--help").output
    assert "forebay pack photos/ data/train" in " ".join(text.split())
    for word in ("--resize", "--skip-bad", "--chunk-tokens", "MXNet"):
        assert word in text


@pytest.mark.skipif(not available(), reason="built without libjpeg-turbo's headers")
def test_images(run, tree, tmp_path):
    (tree / "class0" / "half.jpg").write_bytes(_jpeg(7)[:-30])
    Image.new("RGB", (5, 5)).save(tree / "class1" / "red.png")
    done = run(tree, tmp_path / "d")
    said = "40 images seekable, 2 kept as they are (1 corrupt, 1 not-jpeg)"
    assert done.exit_code == 0, done.output
    assert done.stdout.strip().endswith(said)
    report = json.loads(run(tree, tmp_path / "e", "--json", "--keep-metadata").stdout)
    assert report["images"] == "seekable"
    assert report["image_fates"] == {"corrupt": 1, "not-jpeg": 1, "transcoded": 40}
    assert report["notes"] == []
    report = json.loads(run(tree, tmp_path / "f", "--json", "--images", "keep").stdout)
    assert (report["images"], report["image_fates"]) == ("keep", {})


def test_pictures_that_are_no_jpeg_are_not_talked_about(run, tmp_path):
    (tmp_path / "s").mkdir()
    Image.new("RGB", (5, 5)).save(tmp_path / "s" / "red.png")
    assert "images" not in run(tmp_path / "s", tmp_path / "d").stdout
    report = json.loads(run(tmp_path / "s", tmp_path / "e", "--json").stdout)
    assert report["image_fates"] == ({"not-jpeg": 1} if available() else {})


def test_images_where_native_jpeg_was_not_built(run, tree, tmp_path, monkeypatch):
    monkeypatch.setattr("forebay.formats.pack.images.available", lambda: False)
    done = run(tree, tmp_path / "d", "--images", "seekable")
    assert done.exit_code == 2
    assert "libjpeg62-turbo-dev" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "d").exists()
    done = run(tree, tmp_path / "d")
    assert done.exit_code == 0, done.output
    line, note = done.stdout.splitlines()
    assert line.startswith("packed 40 records")
    assert note.startswith("images are kept as they are")
    assert "libjpeg62-turbo-dev" in note


def test_resize(run, tree, tmp_path):
    (tree / "class1" / "large.jpg").write_bytes(_jpeg(99, 64))
    done = run(tree, tmp_path / "d", "--resize", 8, "--quality", 70)
    assert done.exit_code == 0, done.output
    ds = open_dataset(tmp_path / "d", columns=["image"])
    sizes = {Image.open(io.BytesIO(ds[i][0])).size for i in range(len(ds))}
    assert sizes == {(8, 8)}


def test_resize_of_a_damaged_image(run, tree, tmp_path):
    whole = _jpeg(5, 64)
    (tree / "class0" / "half.jpg").write_bytes(whole[: len(whole) // 2])
    done = run(tree, tmp_path / "d", "--resize", 8)
    assert done.exit_code == 2
    assert "class0/half.jpg: not a whole image" in done.stderr
    assert not (tmp_path / "d").exists()
    done = run(tree, tmp_path / "d", "--resize", 8, "--skip-bad")
    assert done.exit_code == 0, done.output
    assert "skipped class0/half.jpg" in done.stdout
    assert len(open_dataset(tmp_path / "d")) == 40


def test_append(run, tree, tmp_path):
    assert run(tree, tmp_path / "d").exit_code == 0
    assert run(tree, tmp_path / "d", "--append").exit_code == 0
    assert len(open_dataset(tmp_path / "d")) == 80


def _mixed(path):
    path.mkdir()
    pq.write_table(pa.table({"a": [1]}), path / "a.parquet")
    pq.write_table(pa.table({"b": ["x"]}), path / "b.parquet")


def _broken_jsonl(path):
    path.write_text('{"a": 1}\n{"a": 2}\n{"a": \n')


def _labels(path):
    path.write_text("file,label\n000.jpg,1\nnope.jpg,2\n")


# Name: (what to make at SRC, more arguments, words of the message).
BAD = {
    "missing": (None, [], ["no such file or folder"]),
    "empty": (lambda p: p.mkdir(), [], ["is empty", "nothing to pack"]),
    "text file": (lambda p: p.write_text("x"), [], ["no kind of file"]),
    "dangling link": (
        lambda p: (
            p.mkdir(),
            (p / "a.jpg").symlink_to("nowhere"),
            (p / "b.jpg").write_bytes(_jpeg(0)),
        ),
        [],
        ["1 of 2 files", "a.jpg: dangling link", "--skip-bad"],
    ),
    "folder named as an image": (
        lambda p: (p / "x.jpg").mkdir(parents=True),
        [],
        ["is empty"],
    ),
    "not an image": (
        lambda p: (p.mkdir(), (p / "a.jpg").write_text("hello")),
        [],
        ["a.jpg: not an image", "--skip-bad"],
    ),
    "mixed schemas": (_mixed, [], ["b.parquet has other columns than a.parquet"]),
    "broken jsonl": (_broken_jsonl, [], ["line 3", "not JSON"]),
    "bin without dtype": (lambda p: p.write_bytes(b"1234"), [], ["--dtype uint16"]),
}
_NAMES = {
    "text file": "s.txt",
    "broken jsonl": "s.jsonl",
    "bin without dtype": "s.bin",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(run, tmp_path, name):
    make, more, words = BAD[name]
    src = tmp_path / _NAMES.get(name, "s")
    if make is not None:
        make(src)
    done = run(src, tmp_path / "d", *more)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("forebay pack: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shard-bytes", "many"], "--shard-bytes 'many' is not a size"),
        (["--block-bytes", "0"], "--block-bytes must be at least 1"),
        (["--format", "tar"], "format must be parquet or recordio"),
        (["--codec", "lz4"], "codec must be"),
        (["--codec", "none", "--level", "3"], "level 3 says nothing"),
        (["--order", "random"], "order must be"),
        (["--quality", "50"], "say resize too"),
        (["--images", "tiff"], "images must be seekable or keep"),
        (["--images", "keep", "--keep-metadata"], "leave keep-metadata out"),
        (["--dtype", "words"], "--dtype 'words'"),
        (["--workers", "0"], "workers must be at least 1"),
        (["--eos", "5"], "--eos is for token files"),
        (["--labels", "nowhere.csv"], "no such file"),
    ],
)
def test_bad_options(run, tree, tmp_path, arguments, words):
    done = run(tree, tmp_path / "d", *arguments)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "d").exists()


def test_labels_with_missing_files(run, tree, tmp_path):
    _labels(tmp_path / "l.csv")
    done = run(tree / "class0", tmp_path / "d", "--labels", tmp_path / "l.csv")
    assert done.exit_code == 2
    assert "'nope.jpg' in row 2" in done.stderr
    assert not (tmp_path / "d").exists()


def test_destination_that_holds_something(run, tree, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("mine")
    done = run(tree, tmp_path / "d")
    assert done.exit_code == 2
    assert "a.txt" in done.stderr
    assert run(tree, tmp_path / "e").exit_code == 0
    done = run(tree, tmp_path / "e")
    assert done.exit_code == 2
    assert "already holds a dataset of 40 records" in done.stderr


def _command(*arguments):
    return [sys.executable, "-c", SCRIPT, *map(str, arguments)]


@pytest.mark.parametrize("workers", [1, 2])
def test_full_disk(tree, tmp_path, workers):
    """A limit on the size of files fails writes as a full disk does: OSError in mid-write."""
    for i in range(8):
        (tree / "class0" / f"large{i}.jpg").write_bytes(_jpeg(i, 200))
    arguments = (tree, tmp_path / "d", "--workers", workers, "--shard-bytes", "150KB")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = subprocess.run(
        _command(*arguments), capture_output=True, text=True, preexec_fn=limit, timeout=120
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert "run the same command again" in done.stderr
    assert [p.name for p in (tmp_path / "d").iterdir()] == [".pack"]
    done = subprocess.run(_command(*arguments), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert verify_dataset(tmp_path / "d").ok


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupt_and_go_on(tree, tmp_path, workers):
    arguments = (tree, tmp_path / "d", "--workers", workers, "--shard-bytes", "3KB", "--json")
    process = subprocess.Popen(
        _command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while not list(Path(tmp_path / "d").glob(".pack/done-*.json")):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.001)
    # As a terminal does it: every process of the group gets the signal.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert err.strip() == "forebay pack: stopped; run the same command again to go on"
    done = subprocess.run(_command(*arguments), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["shards_reused"] > 0
    assert verify_dataset(tmp_path / "d").ok


def test_nothing_left(run, tree, tmp_path):
    for path in tree.rglob("*.jpg"):
        path.write_text("no image")
    done = run(tree, tmp_path / "d", "--skip-bad")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "nothing is left to pack: all 40 inputs are bad" in done.stderr
    assert not (tmp_path / "d").exists()


def test_a_name_that_is_not_utf8_is_listed(run, tree, tmp_path):
    (tree / os.fsdecode(b"class0/caf\xe9.jpg")).write_bytes(_jpeg(0))
    done = run(tree, tmp_path / "d", "--skip-bad", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["skipped"][0]["name"] == r"class0/caf\xe9.jpg"
    assert run(tree, tmp_path / "e").exit_code == 2
    assert run(tree, tmp_path / "e", "--skip-bad").exit_code == 0


def test_a_read_that_fails_late_goes_on(tree, tmp_path):
    arguments = (tree, tmp_path / "d", "--order", "source", "--shard-bytes", "4KB")
    code = SCRIPT.replace(
        'if __name__ == "__main__":',
        "import os\nfrom forebay.formats.sources import images\nread = images._read\n"
        "def fails(path, size):\n"
        "    from pathlib import Path\n"
        "    return read(Path('/proc/self/mem') if path.name == '039.jpg' else path, size)\n"
        "images._read = fails\n\n"
        'if __name__ == "__main__":',
    )
    command = [sys.executable, "-c", code, *map(str, arguments), "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "Input/output error; what is finished is kept in" in done.stderr
    assert "run the same command again" in done.stderr
    again = json.loads(
        subprocess.run(_command(*arguments, "--json"), capture_output=True, timeout=120).stdout
    )
    assert again["records"] == 40
    assert again["shards_reused"] == again["shards"] - 1 > 1
