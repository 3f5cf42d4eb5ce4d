"""forebay verify: exit codes, faults by the line, and what it refuses."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import time

import pytest

from forebay.formats.verify_report import Fault, VerifyReport
from forebay.formats.writer import write_dataset
from forebay.tools.verify import lines

from .conftest import COMMAND


def test_a_whole_dataset(forebay, dataset):
    (dataset / "mine.txt").write_text("note")
    ran = forebay("verify", dataset, "--workers", 2)
    assert (ran.code, ran.err) == (0, "")
    assert "not part of the dataset: 1 more files in the folder: mine.txt\n" in ran.out
    assert ran.out.splitlines()[-1].startswith(f"{dataset}: whole; read 20 records of ")


def test_json(forebay, dataset, shards, flip):
    whole = forebay("verify", dataset, "--json").json
    assert (whole["ok"], whole["records"], whole["faults"]) == (True, 20, [])
    assert whole["bytes"] == sum(p.stat().st_size for p in shards)
    flip(shards[1])
    ran = forebay("verify", dataset, "--json")
    assert (ran.code, ran.json["ok"]) == (1, False)
    assert ran.json["faults"][0]["file"] == shards[1].name
    assert ran.json["faults"][0]["block"] == 0


def test_each_fault_is_a_line(forebay, dataset, shards, flip):
    for shard in shards[:2]:
        flip(shard)
    ran = forebay("verify", dataset)
    assert (ran.code, ran.err) == (1, "")
    faults, last = ran.out.splitlines()[:-1], ran.out.splitlines()[-1]
    assert [line.split(",")[0] for line in faults] == [p.name for p in shards[:2]]
    assert all("block 0" in line and "CRC-32C" in line for line in faults)
    assert f"{dataset}: damaged: 2 faults; read " in last


def test_a_truncated_shard(forebay, dataset, shards):
    size = shards[0].stat().st_size
    os.truncate(shards[0], size - 5)
    ran = forebay("verify", dataset)
    assert ran.code == 1
    assert f"{shards[0].name}: has another size than recorded: have {size - 5} of {size}" in ran.out
    assert "Traceback" not in ran.err


@pytest.mark.long
def test_damaged_table_index_and_manifest(forebay, dataset, flip):
    for name in sorted(p.name for p in dataset.iterdir() if p.suffix not in (".rec", ".parquet")):
        good = (dataset / name).read_bytes()
        flip(dataset / name, len(good) // 2)
        ran = forebay("verify", dataset)
        assert (ran.code, ran.err) == (1, ""), name
        assert name in ran.out
        (dataset / name).write_bytes(good)
    assert forebay("verify", dataset).code == 0


def test_the_manifest_stands_for_its_folder(forebay, dataset, flip):
    assert forebay("verify", dataset / "forebay.json", "--json").json["foreign"] is False
    table = next(p for p in dataset.iterdir() if p.name.startswith("shards"))
    flip(table, 500)
    assert forebay("verify", dataset / "forebay.json").code == 1


def test_refused(forebay, dataset, tmp_path):
    assert forebay("verify", tmp_path / "none").refused("none", "no such file or folder")
    (tmp_path / "empty").mkdir()
    assert forebay("verify", tmp_path / "empty").refused("is an empty folder")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("a")
    assert forebay("verify", tmp_path / "other").refused("forebay pack")
    assert forebay("verify", dataset, "--workers", 0).refused("--workers", "got 0")
    manifest = dataset / "forebay.json"
    manifest.write_text(manifest.read_text().replace('"forebay": 1', '"forebay": 7'))
    assert forebay("verify", dataset).refused("version 7", "upgrade forebay")


def test_a_name_cannot_break_the_line(forebay, tmp_path):
    path = tmp_path / "a\nb\x1b[2J"
    ran = forebay("verify", path)
    assert ran.refused("no such file or folder")
    assert "\x1b" not in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_no_permission(forebay, dataset):
    (dataset / "forebay.json").chmod(0)
    assert forebay("verify", dataset).refused("forebay.json", "Permission denied")


def test_unreadable(forebay, dataset, shards):
    shards[0].unlink()
    shards[0].symlink_to(shards[0].name)
    assert forebay("verify", dataset).refused(shards[0].name, "symbolic links", "can be read")


def test_others_files_say_what_is_unchecked(forebay, shared_data):
    ran = forebay("verify", shared_data / "recordio" / "sample.rec")
    assert ran.code == 0
    assert "unchecked: 10 of 10 records, 532 B" in ran.out
    refused = shared_data / "parquet" / "datapage_v1-corrupt-checksum.parquet"
    ran = forebay("verify", refused, "--json")
    assert (ran.code, ran.json["foreign"]) == (1, True)
    assert ran.json["faults"][0]["block"] == 0
    encrypted = shared_data / "parquet" / "uniform_encryption.parquet.encrypted"
    assert forebay("verify", encrypted).refused("encrypted", "takes no keys")


def test_a_reader_that_leaves_early(dataset, shards, flip):
    flip(shards[0])
    running = subprocess.Popen(
        [*COMMAND, "verify", str(dataset)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    running.stdout.close()
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(60) == 1


def test_ctrl_c_and_the_bar(tmp_path):
    record = {"data": bytes(1 << 20)}
    options = {"format": "recordio", "codec": "none", "shard_bytes": 8 << 20}
    write_dataset(tmp_path / "ds", (record for _ in range(200)), {"data": "bytes"}, **options)
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [*COMMAND, "verify", str(tmp_path / "ds"), "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown = b""
    until = time.monotonic() + 60
    while b"verifying" not in shown and time.monotonic() < until:
        if select.select([ours], [], [], 1)[0]:
            shown += os.read(ours, 65536)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    while select.select([ours], [], [], 0)[0]:
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    shutil.rmtree(tmp_path / "ds")
    assert running.returncode == 130
    assert out == b""
    assert b"forebay verify: stopped" in shown
    assert b"Traceback" not in shown


def test_lines_are_lines():
    fault = Fault("a\nb.rec", "bad\n\x1b[31m", 1, 2, 3)
    found = list(lines(VerifyReport("d\ne", False, faults=(fault,))))
    assert found[0] == r"a b.rec, block 1, record 2, offset 3: bad \x1b[31m"
    assert found[1].startswith("d e: damaged: 1 fault;")
