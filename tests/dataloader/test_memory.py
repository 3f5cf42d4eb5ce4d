"""The byte budget, measured: 2 GB are streamed within 128 MB and one batch."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import forebay as fb
from forebay.formats.column import Block, FixedColumn, VarColumn

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

TOTAL = 2 * 10**9
SOME = 15_000
LIMIT = 128 * 10**6
FIELDS = {"blob": "bytes", "x": "float32[64]", "label": "int64"}

# Anonymous and shared memory every 2 ms, above that of a process that has imported the names.
PROGRAM = """
import json, sys, threading, time
import forebay
from forebay import DataLoader, open_dataset

def resident():
    with open("/proc/self/status") as file:
        lines = [l.split() for l in file if l.startswith(("RssAnon", "RssShmem"))]
    return sum(int(words[1]) for words in lines) * 1024

base = peak = resident()
done = False
def watch():
    global peak
    while not done:
        peak = max(peak, resident())
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
watcher.start()
dataset = open_dataset(sys.argv[1], columns=["blob", "x", "label"])
loader = DataLoader(dataset, 64, shuffle=sys.argv[2], memory="128MB", num_workers=2)
samples = read = largest = total = 0
for blob, x, label in loader:
    size = sum(map(len, blob)) + x.nbytes + label.nbytes
    largest, read, samples = max(largest, size), read + size, samples + len(blob)
    total += int(label.sum())
    if samples >= int(sys.argv[3]):
        break
done = True
watcher.join()
print(json.dumps({
    "above": peak - base, "batch": largest, "read": read, "samples": samples, "total": total,
    "overdrawn": loader.stats().budget_overdrawn,
}))
"""


def write(path, format):
    """A dataset of 2 GB; how many records it has."""
    generator = np.random.default_rng(0)
    base = generator.integers(0, 256, 40_000_000, np.uint8)
    n, first, done = 2000, 0, 0
    with fb.ShardWriter(path, FIELDS, format=format, codec="none") as writer:
        while done < TOTAL:
            lengths = generator.integers(1_000, 20_000, n)
            starts = np.cumsum(lengths) - lengths
            # Anywhere in the base: what differs is where each record begins in it.
            size = int(lengths.sum())
            values = base[generator.integers(0, len(base) - size) :][:size]
            columns = {
                "blob": VarColumn(values, starts, lengths),
                "x": FixedColumn(generator.random((n, 64), np.float32)),
                "label": FixedColumn(np.arange(first, first + n)),
            }
            writer.write_columns(Block(n, columns, 0))
            first, done = first + n, done + size + n * 264
    return first


def streamed(path, shuffle, most):
    """What the program told of an epoch, or of its first samples."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), shuffle, str(most)],
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["above"] < LIMIT + told["batch"], told
    assert told["overdrawn"] == 0
    return told


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_two_gigabytes_stream_within_the_budget(tmp_path, format):
    free = shutil.disk_usage(tmp_path).free
    if free < 6 * 10**9:
        pytest.skip(f"needs 6 GB of disk at {tmp_path}, {free / 1e9:.1f} GB are free")
    path = tmp_path / "d"
    try:
        records = write(path, format)
        told = streamed(path, "window", records)
        if format == "recordio":
            # Record by record, for as long as it takes to see that nothing grows.
            assert streamed(path, "full", SOME)["samples"] >= SOME
    finally:
        shutil.rmtree(path, ignore_errors=True)
    assert told["samples"] == records
    assert told["total"] == records * (records - 1) // 2
    assert told["read"] >= TOTAL
