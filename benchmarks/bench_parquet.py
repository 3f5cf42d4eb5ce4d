"""Row groups of 20 float32 and a string as columns, against pyarrow in one thread on the same file.

`noise` is what zstd hardly packs (kept as it is, SPEC.md), `steps` what it packs to a half. pyarrow
checks nothing here, while we compare each chunk with its CRC-32C.
"""

import itertools

import numpy as np
import pyarrow.parquet as pq
import pytest

from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.dataset import open_dataset
from forebay.formats.writer import ShardWriter

ROWS = 100_000
COLUMNS = 20


@pytest.fixture(scope="module", params=["noise", "steps"])
def dataset(request, tmp_path_factory):
    generator = np.random.default_rng(0)
    columns: dict[str, Column] = {}
    for i in range(COLUMNS):
        values = generator.standard_normal(ROWS, dtype=np.float32)
        columns[f"f{i}"] = FixedColumn(values if request.param == "noise" else values.round(2))
    names = [f"user-{i}".encode() for i in range(ROWS)]
    lengths = np.array([len(n) for n in names], np.int64)
    text = np.frombuffer(b"".join(names), np.uint8)
    columns["name"] = VarColumn(text, np.cumsum(lengths) - lengths, lengths)
    path = tmp_path_factory.mktemp("parquet") / "d"
    fields = {f"f{i}": "float32" for i in range(COLUMNS)} | {"name": "text"}
    with ShardWriter(path, fields, format="parquet") as w:
        w.write_columns(Block(ROWS, columns, 0))
    return open_dataset(path)


def report(benchmark, rows):
    benchmark.extra_info["M rows/s"] = rows / benchmark.stats.stats.median / 1e6


def bench_blocks(benchmark, dataset):
    blocks = itertools.cycle(range(len(dataset.blocks) - 1))
    dataset.read(0)
    block = benchmark(lambda: dataset.read(next(blocks)))
    report(benchmark, block.rows)


def bench_pyarrow(benchmark, dataset):
    shard, _ = dataset.shard_of(0)
    file = pq.ParquetFile(f"{dataset.name}/{shard.file}", pre_buffer=False)
    blocks = itertools.cycle(range(file.num_row_groups - 1))

    def read():
        table = file.read_row_group(next(blocks), use_threads=False)
        return [table.column(i).to_numpy() for i in range(COLUMNS)]

    benchmark(read)
    report(benchmark, int(shard.block_rows[0]))


def bench_cost(benchmark, dataset):
    dataset.cost(1)
    benchmark(dataset.cost, 1)
