"""RecordIO blocks from framed bytes to columns, against the reads and checks that bound them.

One core, files in the page cache. `bench_bound` is pread of the same bytes into memory that is used
again, and their CRC-32C: what no reader that checks can be faster than.
"""

import itertools

import numpy as np
import pytest

from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.dataset import open_dataset
from forebay.formats.writer import ShardWriter
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c

TOKENS = 16 << 20


def records(kind):
    generator = np.random.default_rng(0)
    tokens = (generator.pareto(1.0, TOKENS // 4) * 50).clip(0, 49_999).astype(np.int32)
    if kind == "long":
        values = tokens.reshape(-1, 2048)
        return {"ids": "int32[2048]"}, FixedColumn(values)
    lengths = generator.integers(16, 129, 2 * len(tokens) // 144).astype(np.int64)
    lengths = lengths[np.cumsum(lengths) <= len(tokens)]
    return {"ids": "int32[*]"}, VarColumn(tokens, np.cumsum(lengths) - lengths, lengths)


@pytest.fixture(
    scope="module",
    params=itertools.product(["short", "long"], ["none", "zstd"]),
    ids="-".join,
)
def dataset(request, tmp_path_factory):
    kind, codec = request.param
    fields, column = records(kind)
    columns: dict[str, Column] = {"ids": column}
    path = tmp_path_factory.mktemp("recordio") / "d"
    with ShardWriter(path, fields, format="recordio", codec=codec) as w:
        w.write_columns(Block(len(column), columns, column.nbytes))
    return open_dataset(path)


def report(benchmark, rows, nbytes):
    seconds = benchmark.stats.stats.median
    benchmark.extra_info["M records/s"] = rows / seconds / 1e6
    benchmark.extra_info["MB/s"] = nbytes / seconds / 1e6


def bench_blocks(benchmark, dataset):
    blocks = itertools.cycle(range(len(dataset.blocks) - 1))
    dataset.read(0)
    block = benchmark(lambda: dataset.read(next(blocks)))
    report(benchmark, block.rows, block.nbytes)


def bench_bound(benchmark, dataset):
    shard, _ = dataset.shard_of(0)
    size = int(shard.block_bytes[0])
    buffer = aligned_empty(size)

    def read():
        dataset._opened.source.read_into(shard.file, [0], [buffer.data])
        crc32c(buffer.data)

    benchmark(read)
    report(benchmark, int(shard.block_rows[0]), size)


@pytest.mark.parametrize("count", [1, 64, 256])
def bench_scattered(benchmark, dataset, count):
    """Rows from all over the dataset in one read, as a full order asks for them."""
    generator = np.random.default_rng(1)
    rows = itertools.cycle([generator.integers(0, len(dataset), count) for _ in range(50)])
    dataset.read_rows(next(rows))
    block = benchmark(lambda: dataset.read_rows(next(rows)))
    report(benchmark, block.rows, block.nbytes)


def bench_write(benchmark, tmp_path):
    fields, column = records("short")
    numbers = itertools.count()

    def write():
        path = tmp_path / str(next(numbers))
        with ShardWriter(path, fields, format="recordio", codec="none") as w:
            w.write_columns(Block(len(column), {"ids": column}, column.nbytes))

    benchmark.pedantic(write, rounds=5)
    report(benchmark, len(column), column.nbytes)
