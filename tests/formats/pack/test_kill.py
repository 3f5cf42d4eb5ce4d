"""kill -9 at any moment leaves a dataset that verifies, or none; a rerun ends byte-identical."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from forebay.formats.dataset import open_dataset
from forebay.formats.errors import DatasetNotFound, UnfinishedDataset
from forebay.formats.pack.options import PackOptions
from forebay.formats.pack.packing import Running, pack
from forebay.formats.verify import verify_dataset

SCRIPT = """
import json, sys
from forebay.formats.destination import WriteOptions
from forebay.formats.pack.options import PackOptions
from forebay.formats.pack.packing import Running, pack

if __name__ == "__main__":
    src, dst, format, workers = sys.argv[1:]
    options = PackOptions(write=WriteOptions(format), shard_bytes=6000, block_bytes=1500)
    print(json.dumps(pack(src, dst, options, Running(workers=int(workers))).to_json()))
"""

# Ends the process by SIGKILL at its n-th rename, in a fork for each n until one gets through.
EVERY_RENAME = """
import os, signal, sys
from forebay.formats.destination import WriteOptions
from forebay.formats.pack.options import PackOptions
from forebay.formats.pack.packing import Running, pack

src, dst, format, before = sys.argv[1:]
options = PackOptions(write=WriteOptions(format), shard_bytes=20_000, block_bytes=5000)
rename, n = os.replace, 0
while True:
    n += 1
    if os.fork() == 0:
        left = n
        def replace(a, b):
            global left
            left -= 1
            if left == 0 and before == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            rename(a, b)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        os.replace = replace
        pack(src, f"{dst}/{n}", options, Running(workers=1))
        os._exit(0)
    if os.wait()[1] == 0:
        break
print(n)
"""


def _none_or_whole(path):
    try:
        open_dataset(path)
    except (UnfinishedDataset, DatasetNotFound):
        return False
    assert verify_dataset(path).ok
    return True


@pytest.mark.long
@pytest.mark.parametrize("format", ["parquet", "recordio"])
@pytest.mark.parametrize("before", ["before", "after"])
def test_at_every_rename(tree, tmp_path, same, format, before):
    out = tmp_path / "out"
    out.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", EVERY_RENAME, tree, out, format, before],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    count = int(ran.stdout)
    assert count > 8
    from forebay.formats.destination import WriteOptions

    options = PackOptions(write=WriteOptions(format), shard_bytes=20_000, block_bytes=5000)
    whole = out / str(count)
    made = reused = 0
    for n in range(1, count):
        made += _none_or_whole(out / str(n))
        report = pack(tree, out / str(n), options, Running(workers=1))
        reused += report.shards_reused > 0
        assert same(out / str(n), whole), n
        assert verify_dataset(out / str(n)).ok
    # Only the rename of the manifest makes a dataset.
    assert made == (1 if before == "after" else 0)
    assert reused > 3


def _wait_for(path, shards, process):
    end = time.monotonic() + 60
    while len(list(path.glob(".pack/done-*.json"))) < shards and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.002)


def _alive(group):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry))
    return found


@pytest.mark.long
@pytest.mark.parametrize("whom", ["group", "parent"])
def test_at_random_moments(tree, tmp_path, same, whom):
    pack(tree, tmp_path / "whole", PackOptions(shard_bytes=6000, block_bytes=1500), Running(1))
    rng = random.Random(whom)
    kills = reused = 0
    for attempt in range(3):
        path = tmp_path / f"d{attempt}"
        command = [sys.executable, "-c", SCRIPT, tree, path, "parquet", "2"]
        for shards in sorted(rng.sample(range(12), 2)):
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            _wait_for(path, shards, process)
            time.sleep(rng.random() * 0.03)
            kills += process.poll() is None
            if whom == "parent":
                process.kill()
            elif process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            end = time.monotonic() + 10
            while _alive(process.pid):
                assert time.monotonic() < end, "a worker outlives its parent"
                time.sleep(0.01)
            if path.exists():
                _none_or_whole(path)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            # The last kill came too late: the dataset was made and cleaned up already.
            assert "already holds a dataset" in done.stderr
        else:
            reused += json.loads(done.stdout)["shards_reused"] > 0
        assert same(tmp_path / "whole", path)
    assert kills > 3
    assert reused > 0
