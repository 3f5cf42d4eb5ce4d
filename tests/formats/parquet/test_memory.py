"""What decoding takes stays below what `cost` announced; nothing starts a thread."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# Each file in a process of its own, since Arrow's pool remembers only the highest mark of its life:
# in forks of one that has imported what they need, and read nothing.
MEASURE = """
import os, sys, tracemalloc
import pyarrow as pa
from forebay.formats.parquet.describe import describe
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.storage.local import LocalSource

def measure(folder, name):
    threads = len(os.listdir("/proc/self/task"))
    source = LocalSource(folder)
    schema, entry = describe(source, name)
    reader = ParquetReader(source, schema)
    rest, memory = reader.cost(entry, 0, schema)
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    assert pool.max_memory() < before + 100_000
    tracemalloc.start()
    block = reader.read(entry, 0, schema)
    numpy_peak = tracemalloc.get_traced_memory()[1]
    assert len(os.listdir("/proc/self/task")) == threads, "a thread was started"
    assert block.nbytes <= entry.block_memory[0] <= memory
    held = tracemalloc.get_traced_memory()[0] + pool.bytes_allocated() - before
    peak = numpy_peak + pool.max_memory() - before
    print(name, rest + memory, peak, block.nbytes, held, flush=True)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if reader.read(entry, 0, schema).rows == block.rows else 1)
    assert os.waitpid(pid, 0)[1] == 0

for name in sys.argv[2:]:
    pid = os.fork()
    if pid == 0:
        measure(sys.argv[1], name)
        sys.exit()
    assert os.waitpid(pid, 0)[1] == 0, name
"""
KINDS = ("image", "text", "int64", "int8", "bool", "fixed", "ragged")
N = 200_000


def arrays(kind):
    random = np.random.default_rng(0)
    match kind:
        case "image":
            struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
            return pa.array([{"bytes": random.bytes(60_000)} for _ in range(50)], struct)
        case "text":
            return pa.array(["é" * int(k) for k in random.integers(0, 40, N // 4)])
        case "int64":
            return pa.array(random.integers(0, 1000, N), mask=random.random(N) < 0.1)
        case "int8":
            return pa.array(random.integers(0, 100, N), pa.int8())
        case "bool":
            return pa.array(random.random(N) < 0.5)
        case "fixed":
            values = pa.array(random.random(N), pa.float32())
            mask = pa.array(np.arange(N // 20) % 3 == 0)
            return pa.FixedSizeListArray.from_arrays(values, 20, mask=mask)
        case "ragged":
            offsets = pa.array(np.arange(0, N + 1, 50), pa.int32())
            return pa.ListArray.from_arrays(
                offsets, pa.array(random.integers(0, 9, N), pa.uint16())
            )
    raise ValueError(kind)


@pytest.mark.long
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_cost_bounds_what_a_read_takes(tmp_path, compression, dictionary):
    files = [f"{kind}.parquet" for kind in KINDS]
    for kind, file in zip(KINDS, files, strict=True):
        pq.write_table(
            pa.table({"a": arrays(kind)}),
            tmp_path / file,
            compression=compression,
            use_dictionary=dictionary,
            row_group_size=1 << 30,
        )
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path, *files],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, *_ in lines] == files
    for name, *numbers in lines:
        announced, peak, nbytes, held = map(int, numbers)
        assert peak <= announced + 50_000, name  # Python's own small objects
        assert held <= nbytes + 50_000, name
