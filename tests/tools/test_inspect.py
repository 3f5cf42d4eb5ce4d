"""forebay inspect: what it says, the page it writes, and what it refuses."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from forebay.formats.record import Field, Schema
from forebay.formats.writer import write_dataset

from .conftest import COMMAND, picture


def test_the_listing(forebay, dataset, shards):
    ran = forebay("inspect", dataset, "--records", 4)
    assert (ran.code, ran.err) == (0, "")
    form = "parquet" if shards[0].suffix == ".parquet" else "recordio"
    facts = dict(
        re.split(r"  +", line, maxsplit=1) for line in ran.out.split("\n\n")[0].split("\n")
    )
    assert facts["dataset"] == str(dataset)
    assert facts["format"] == f"{form}, written by forebay"
    assert facts["codec"] == "none"
    assert facts["records"].startswith("20 in ")
    assert facts["generation"] == "2"
    assert re.search(r"(?m)^image +jpeg$", ran.out)
    assert re.search(r"(?m)^x +float32\[3\]$", ran.out)
    assert shards[0].name in ran.out
    assert "jpeg, 20 x 30, " in ran.out
    assert r'text   "Größe 0 <b>\u001b[2J\n"' in ran.out
    assert "text   null" in ran.out
    assert "x      float32[3]: 3.0, nan, -3.0" in ran.out
    assert "record 3" in ran.out
    assert "record 4" not in ran.out
    assert "\x1b" not in ran.out


def test_json(forebay, dataset, shards):
    ran = forebay("inspect", dataset, "--json", "--records", 2)
    found = json.loads(ran.out, parse_constant=lambda text: pytest_fail(text))
    assert (found["records"], found["shards"], found["generation"]) == (20, len(shards), 2)
    assert [g["records"] for g in found["generations"]] == [12, 8]
    assert found["bytes"] == sum(p.stat().st_size for p in shards)
    assert [s["file"] for s in found["shard_files"]] == [p.name for p in shards]
    assert sum(s["blocks"] for s in found["shard_files"]) == found["blocks"]
    spread = found["block_rows"]
    assert 1 <= spread["min"] <= spread["median"] <= spread["max"] < 20
    assert found["ratio"] == round(found["memory_bytes"] / found["bytes"], 4)
    assert (found["foreign"], found["unchecked_bytes"], found["codec"]) == (
        False,
        0,
        {"id": "none"},
    )
    assert found["fields"][2] == {"name": "text", "kind": "text", "nullable": True}
    first, second = found["samples"]
    size = len(picture(0))
    assert first["values"]["image"] == {
        "bytes": size, "encoding": "jpeg", "height": 20, "width": 30, "orientation": 1,
    }  # fmt: skip
    assert second["values"]["label"] == 1
    assert second["values"]["x"] == {
        "dtype": "float32", "shape": [3], "values": [1.0, "nan", -1.0],
    }  # fmt: skip
    assert second["values"]["text"]["text"] == "Größe 1 <b>\x1b[2J\n"


def pytest_fail(text):
    raise AssertionError(f"{text} is not JSON")


VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """The tags and texts of a page; tags that are never closed are kept apart."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text, self.images = [], [], "", []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag == "img":
            self.images.append(dict(attrs)["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_filter_counts_and_shows_what_it_keeps(forebay, dataset):
    ran = forebay("inspect", dataset, "--filter", "label==2 and text is not None")
    assert ran.code == 0
    kept = re.search(r"(?m)^kept: (\d+) of 20 records$", ran.out)
    assert "filter: label == 2 and text is not None\n" in ran.out
    ran = forebay("inspect", dataset, "--filter", "label == 2", "--json", "--records", 99)
    found = json.loads(ran.out, parse_constant=float)
    assert found["filter"]["text"] == "label == 2"
    assert 0 < int(kept[1]) <= found["filter"]["records"] == len(found["samples"]) < 20
    ran = forebay("inspect", dataset, "--filter", "lable == 2")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean 'label'" in ran.err


def test_the_page(forebay, dataset, tmp_path):
    html = tmp_path / "page.html"
    ran = forebay("inspect", dataset, "--html", html, "--pictures", 6, "--records", 1)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(f"page: {html}\n")
    text = html.read_text()
    page = Page(text)
    assert len(page.images) == 6
    for source in page.images:
        head, data = source.split(",")
        assert head == "data:image/jpeg;base64"
        assert Image.open(io.BytesIO(base64.b64decode(data))).size == (30, 20)
    assert "b" not in page.tags
    assert r"Größe 0 <b>\u001b[2J\n" in page.text
    assert "record 18, image" in page.text
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


EVIL = "</td><script>alert(1)</script>&\"'\x1b[2J\u202e"


def test_hostile_names(forebay, tmp_path):
    schema = Schema(
        (
            Field("image", "image", encoding="image"),
            Field("l" + EVIL, "fixed", dtype="int64", classes=(EVIL, "b" + EVIL)),
            Field("t", "text"),
        )
    )
    records = [{"image": data, "l" + EVIL: 1, "t": EVIL} for data in (picture(1), b"no image", b"")]
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    write_dataset(folder, records, schema)
    html = tmp_path / "page.HTM"
    ran = forebay("inspect", folder, "--html", html)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    text = html.read_text()
    page = Page(text)
    assert "script" not in page.tags
    assert page.tags.count("img") == 1
    assert r"1 b</td><script>alert(1)</script>" in page.text
    assert r"\x1b[2J\u202e" in page.text
    assert "8 bytes are no image" in page.text
    assert "0 bytes are no image" in page.text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_damage_is_shown_and_counts(forebay, dataset, shards, flip, tmp_path):
    flip(shards[0])
    ran = forebay("inspect", dataset, "--records", 1, "--json")
    assert ran.code == 1
    assert shards[0].name in ran.json["samples"][0]["fault"]
    ran = forebay("inspect", dataset, "--records", 0, "--html", tmp_path / "p.html")
    assert ran.code == 1
    assert "CRC-32C" in Page((tmp_path / "p.html").read_text()).text
    assert forebay("inspect", dataset, "--records", 0).code == 0


def test_refused(forebay, dataset, tmp_path):
    assert forebay("inspect", tmp_path / "none").refused("none", "no such file or folder")
    (tmp_path / "empty").mkdir()
    assert forebay("inspect", tmp_path / "empty").refused("is an empty folder")
    assert forebay("inspect", dataset, "--records", -1).refused("--records", "got -1")
    assert forebay("inspect", dataset, "--pictures", 5).refused("say --html")
    assert forebay("inspect", dataset, "--html", dataset / "forebay.json").refused(".html")
    html = tmp_path / "no" / "page.html"
    assert forebay("inspect", dataset, "--html", html).refused(str(html), "No such file")


def test_refused_by_size(forebay, dataset, shards):
    good = shards[0].read_bytes()
    os.truncate(shards[0], len(good) - 3)
    have = f"have {len(good) - 3} of {len(good)} bytes"
    assert forebay("inspect", dataset).refused(shards[0].name, have, "restore")
    shards[0].unlink()
    assert forebay("inspect", dataset).refused(shards[0].name, "is missing")
    shards[0].symlink_to(shards[0].name)
    assert forebay("inspect", dataset).refused(shards[0].name, "symbolic links")


def test_refused_by_manifest_and_table(forebay, dataset, flip):
    manifest, table = dataset / "forebay.json", sorted(dataset.glob("shards*.arrow"))[0]
    good = manifest.read_bytes(), table.read_bytes()
    flip(table, 300)
    assert forebay("inspect", dataset).refused(table.name, "damaged")
    table.write_bytes(good[1])
    flip(manifest, 100)
    assert forebay("inspect", dataset).refused("forebay.json", "damaged")
    manifest.write_text(good[0].decode().replace('"forebay": 1', '"forebay": 2'))
    assert forebay("inspect", dataset).refused("format version 2", "upgrade forebay")
    manifest.unlink()
    assert "Traceback" not in forebay("inspect", dataset).err


def test_a_damaged_index(forebay, dataset, flip):
    indexes = sorted(dataset.glob("*.index.arrow"))
    for path in indexes[:1]:
        flip(path, 200)
        ran = forebay("inspect", dataset)
        assert ran.code == 1
        assert f"shard {path.name}" in ran.out


def test_others_files(forebay, shared_data, tmp_path):
    ran = forebay("inspect", shared_data / "recordio" / "sample.rec", "--json")
    assert (ran.code, ran.json["foreign"], ran.json["unchecked_bytes"]) == (0, True, 532)
    assert ran.json["codec"] is None
    encrypted = shared_data / "parquet" / "uniform_encryption.parquet.encrypted"
    assert forebay("inspect", encrypted).refused("encrypted", "takes no keys")
    nested = pa.table({"deep": [[{"a": [1, None]}]] * 3, "raw": [picture(1), b"raw", None]})
    pq.write_table(nested, tmp_path / "nested.parquet")
    html = tmp_path / "page.html"
    ran = forebay("inspect", tmp_path / "nested.parquet", "--json", "--html", html)
    values = [s["values"] for s in ran.json["samples"]]
    assert values[0]["deep"] == {"type": "list", "repr": "[{'a': [1, None]}]"}
    assert values[1]["raw"] == {"bytes": 3, "begins": "72 61 77"}
    assert values[2]["raw"] is None
    assert len(Page(html.read_text()).images) == 1


def test_no_records(forebay, tmp_path):
    write_dataset(tmp_path / "ds", [], {"x": "int8"})
    ran = forebay("inspect", tmp_path / "ds", "--json", "--html", tmp_path / "p.html")
    assert (ran.code, ran.json["records"], ran.json["samples"]) == (0, 0, [])
    assert ran.json["block_rows"] == {"min": 0, "median": 0, "max": 0}
    assert forebay("inspect", tmp_path / "ds").code == 0


def test_a_reader_that_leaves_early_and_a_narrow_encoding(dataset):
    running = subprocess.Popen(
        [*COMMAND, "inspect", str(dataset)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    running.stdout.close()
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(60) == 0
    ran = subprocess.run(
        [*COMMAND, "inspect", str(dataset)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert rb"Gr\xf6\xdfe 0" in ran.stdout


def test_records_are_previews_not_copies(forebay, tmp_path):
    record = {"t": "x" * 100_000, "a": np.arange(10_000, dtype=np.int32), "b": bytes(100_000)}
    write_dataset(tmp_path / "ds", [record], {"t": "text", "a": "int32[*]", "b": "bytes"})
    ran = forebay("inspect", tmp_path / "ds", "--json")
    assert len(ran.out) < 5000
    values = ran.json["samples"][0]["values"]
    assert values["t"]["characters"] == 100_000
    assert values["a"]["shape"] == [10_000]
    assert values["b"]["bytes"] == 100_000
    assert "... 100000 characters" in forebay("inspect", tmp_path / "ds").out
