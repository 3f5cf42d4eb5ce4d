"""Reading a dataset as fetch does: whole blocks, and single records by number.

Samples of 16 to 128 int32 tokens and a label, 20,000 of them; files in the page cache. MB/s counts
bytes of the columns in memory over the median.
"""

import itertools

import numpy as np
import pytest

from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.dataset import open_dataset
from forebay.formats.writer import ShardWriter

SAMPLES = 20_000
FORMS = [("recordio", "none"), ("recordio", "zstd"), ("parquet", "none"), ("parquet", "zstd")]


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def dataset(request, tmp_path_factory):
    form, codec = request.param
    generator = np.random.default_rng(0)
    lengths = generator.integers(16, 129, SAMPLES)
    values = generator.integers(0, 50_257, int(lengths.sum()), dtype=np.int32)
    columns: dict[str, Column] = {
        "ids": VarColumn(values, np.cumsum(lengths) - lengths, lengths),
        "label": FixedColumn(np.arange(SAMPLES)),
    }
    path = tmp_path_factory.mktemp("dataset") / "d"
    with ShardWriter(path, {"ids": "int32[*]", "label": "int64"}, format=form, codec=codec) as w:
        w.write_columns(Block(SAMPLES, columns, values.nbytes))
    return open_dataset(path)


def bench_read_blocks(benchmark, dataset):
    blocks = itertools.cycle(range(len(dataset.blocks)))
    dataset.read(0)
    block = benchmark(lambda: dataset.read(next(blocks)))
    seconds = benchmark.stats.stats.median
    benchmark.extra_info["k records/s"] = block.rows / seconds / 1e3
    benchmark.extra_info["MB/s"] = block.nbytes / seconds / 1e6


def bench_read_rows(benchmark, dataset):
    """64 records of one block, as a slice of the full order asks for them."""
    if not dataset.record_readable:
        pytest.skip("Parquet is read by whole blocks")
    rows = np.sort(np.random.default_rng(0).permutation(int(dataset.blocks.first_row[1]))[:64])
    dataset.read(0, rows)
    benchmark(dataset.read, 0, rows)
    benchmark.extra_info["k records/s"] = len(rows) / benchmark.stats.stats.median / 1e3


def bench_samples_by_number(benchmark, dataset):
    """A batch of 256 neighbours as Python values, as torch's own DataLoader gets them."""
    index = list(range(256))
    dataset.__getitems__(index)
    benchmark(dataset.__getitems__, index)
    benchmark.extra_info["k records/s"] = len(index) / benchmark.stats.stats.median / 1e3


def bench_cost(benchmark, dataset):
    """What a load will cost, asked under the run's lock for each."""
    blocks = itertools.cycle(range(len(dataset.blocks)))
    dataset.cost(0)
    benchmark(lambda: dataset.cost(next(blocks)))
