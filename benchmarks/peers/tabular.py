"""Tabular: Parquet, 5 M rows of 20 float32 and a string, batches of 4,096, rows shuffled."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .case import FOREBAY, Epochs, Setting, Workload
from .corpus.tabular import NAMES

BATCH = 4_096


def samples(batch: Any) -> int:
    """Rows of a batch."""
    return len(batch[NAMES[0]])


def check(batch: Any, setting: Setting) -> int:
    """Raises ValueError unless a batch is a dict of 20 float32 tensors and 4,096 strings."""
    import torch

    for name in NAMES:
        column = batch[name]
        if not isinstance(column, torch.Tensor) or column.dtype != torch.float32:
            raise ValueError(f"expected {name} as a float32 tensor, got {column!r:.200}")
        if column.shape != (setting.batch,) or float(column.std()) == 0:
            raise ValueError(f"expected {setting.batch} values of {name}, got {column.shape}")
    if len(batch["key"]) != setting.batch:
        raise ValueError(f"expected {setting.batch} strings, got {len(batch['key'])}")
    return setting.batch


TABULAR = Workload(
    "tabular",
    "Parquet with zstd, 5,000,000 rows of 20 float32 and a string, rows shuffled within row "
    "groups or a window, batch 4,096, strings included",
    "rows",
    "tabular",
    BATCH,
    check,
    samples,
)
WORKLOADS = (TABULAR,)


@TABULAR.peer("forebay", imports=FOREBAY)
def forebay(setting: Setting) -> Iterable[Any]:
    """Parquet shards of forebay (blocks of 1 MiB), shuffled over a window of 64 MB, which mixes
    more than a row group; one thread a processor; memory="1GB". Strings are a list of str."""
    return _forebay(setting, "forebay")


@TABULAR.peer("parquet", imports=FOREBAY)
def forebay_foreign(setting: Setting) -> Iterable[Any]:
    """As forebay, over the same file as the other peers, written by pyarrow."""
    return _forebay(setting, "parquet")


def _forebay(setting: Setting, form: str) -> Iterable[Any]:
    import forebay as fb

    return fb.DataLoader(
        fb.open_dataset(setting.data / form),
        batch_size=setting.batch,
        shuffle="window",
        seed=0,
        drop_last=True,
        num_workers=setting.workers,
        memory="1GB",
    )


def _file(setting: Setting) -> str:
    return str(setting.data / "parquet" / "table.parquet")


def _batches(table: Any, size: int, generator: np.random.Generator) -> Iterator[Any]:
    """Whole batches of a table's rows in random order; a rest is left out. Strings stay Arrow's."""
    import torch

    order = generator.permutation(len(table))
    columns = {name: table[name].to_numpy()[order] for name in NAMES}
    keys = table["key"].combine_chunks().take(order)
    for at in range(0, len(order) - size + 1, size):
        batch: dict[str, Any] = {n: torch.from_numpy(c[at : at + size]) for n, c in columns.items()}
        batch["key"] = keys[at : at + size]
        yield batch


def _row_groups(file: str, threads: int, size: int, seed: int) -> Iterator[Any]:
    """Row groups in random order, read and shuffled by threads; batches through a short queue."""
    import pyarrow.parquet as pq

    groups = iter(np.random.default_rng(seed).permutation(pq.ParquetFile(file).num_row_groups))
    ready: queue.Queue[Any] = queue.Queue(2 * threads)
    lock, ended = threading.Lock(), object()

    def work(number: int) -> None:
        reader, generator = pq.ParquetFile(file), np.random.default_rng((seed, number))
        while True:
            with lock:
                group = next(groups, None)
            if group is None:
                ready.put(ended)
                return
            table = reader.read_row_group(int(group), use_threads=False)
            ready.put(list(_batches(table, size, generator)))

    for number in range(threads):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    left = threads
    while left:
        got = ready.get()
        if got is ended:
            left -= 1
        else:
            yield from got


@TABULAR.peer("parquet", imports=("pyarrow.parquet",))
def pyarrow_threads(setting: Setting) -> Iterable[Any]:
    """Hand-written: one thread a processor reads row groups of 65,536 rows in random order with
    ParquetFile.read_row_group(use_threads=False) and shuffles within them; strings stay Arrow's."""
    return Epochs(lambda n: _row_groups(_file(setting), setting.workers, setting.batch, n))


@TABULAR.peer("parquet", imports=("pyarrow.dataset",))
def pyarrow_scanner(setting: Setting) -> Iterable[Any]:
    """pyarrow.dataset scanner with its own threads, batches of 65,536 rows shuffled within, files
    in order; strings stay Arrow's."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    pa.set_cpu_count(setting.workers)
    dataset = ds.dataset(_file(setting))

    def epoch(number: int) -> Iterator[Any]:
        generator = np.random.default_rng(number)
        for batch in dataset.to_batches(batch_size=65_536, batch_readahead=4):
            yield from _batches(pa.Table.from_batches([batch]), setting.batch, generator)

    return Epochs(epoch)


@TABULAR.peer("lance", environment="lance", imports=("lance", "pyarrow"))
def lance_scan(setting: Setting) -> Iterable[Any]:
    """Lance scanner with its own threads, batches of 65,536 rows shuffled within, in order."""
    import lance
    import pyarrow as pa

    dataset = lance.dataset(str(setting.data / "lance"))

    def epoch(number: int) -> Iterator[Any]:
        generator = np.random.default_rng(number)
        for batch in dataset.to_batches(batch_size=65_536, batch_readahead=4):
            yield from _batches(pa.Table.from_batches([batch]), setting.batch, generator)

    return Epochs(epoch)


@TABULAR.peer("parquet", environment="petastorm", imports=("petastorm.pytorch",))
def petastorm(setting: Setting) -> Iterable[Any]:
    """Petastorm make_batch_reader, thread pool of one thread a processor, row groups and rows in
    them shuffled, read as row groups and cut into batches by hand, since its BatchedDataLoader
    refuses strings. Needs pyarrow 12 and NumPy below 2."""
    import pyarrow as pa
    from petastorm import make_batch_reader

    def epoch(number: int) -> Iterator[Any]:
        generator = np.random.default_rng(number)
        options = {"reader_pool_type": "thread", "workers_count": setting.workers, "num_epochs": 1}
        url = f"file://{_file(setting)}"
        with make_batch_reader(url, shuffle_row_groups=True, **options) as reader:
            for group in reader:
                columns = {name: pa.array(getattr(group, name)) for name in (*NAMES, "key")}
                yield from _batches(pa.table(columns), setting.batch, generator)

    return Epochs(epoch)


def _huggingface(setting: Setting, buffer: int) -> Iterable[Any]:
    import torch
    from datasets import load_dataset

    stream = load_dataset(
        "parquet", data_files=_file(setting), split="train", streaming=True
    ).with_format("numpy")

    def epoch(number: int) -> Iterator[Any]:
        mixed = stream.shuffle(seed=number, buffer_size=buffer) if buffer else stream
        for rows in mixed.iter(batch_size=setting.batch, drop_last_batch=True):
            batch: dict[str, Any] = {n: torch.from_numpy(np.asarray(rows[n])) for n in NAMES}
            batch["key"] = rows["key"]
            yield batch

    return Epochs(epoch)


@TABULAR.peer("parquet", environment="datasets", imports=("datasets",))
def huggingface_unshuffled(setting: Setting) -> Iterable[Any]:
    """Hugging Face streaming from Parquet, NumPy format, in order: less than the task."""
    return _huggingface(setting, 0)


@TABULAR.peer("parquet", environment="datasets", imports=("datasets",))
def huggingface(setting: Setting) -> Iterable[Any]:
    """Hugging Face streaming from Parquet, NumPy format, shuffle buffer of 65,536 rows, through
    which every row goes as a Python object."""
    return _huggingface(setting, 65_536)
