"""Records: a million samples of 16-128 int32 tokens, shuffled, batches of 256 padded with zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from . import gather
from .case import FOREBAY, Epochs, Setting, Workload
from .corpus.arrays import Rows

BATCH = 256
LEAST, MOST = 16, 128


def samples(batch: Any) -> int:
    """Rows of a batch."""
    return len(batch[1])


def check(batch: Any, setting: Setting) -> int:
    """Raises ValueError unless a batch is (padded int32 tokens, int64 lengths) as tensors."""
    import torch

    ids, lengths = batch
    if not (isinstance(ids, torch.Tensor) and isinstance(lengths, torch.Tensor)):
        raise ValueError(f"expected two tensors, got {type(ids)} and {type(lengths)}")
    if ids.dtype != torch.int32 or ids.shape != (setting.batch, int(lengths.max())):
        raise ValueError(f"expected ({setting.batch}, longest) int32, got {ids.shape} {ids.dtype}")
    if int(lengths.min()) < LEAST or int(lengths.max()) > MOST:
        raise ValueError(f"lengths of {LEAST} to {MOST} expected, got {lengths}")
    behind = torch.arange(ids.shape[1]) >= lengths[:, None]
    if bool(ids[behind].any()) or not bool(ids[~behind].any()):
        raise ValueError("tokens are missing, or what lies behind a row is not zero")
    return len(ids)


RECORDS = Workload(
    "records",
    "1,000,000 samples of 16-128 int32 tokens, shuffled one by one, batch 256, padded",
    "samples",
    "records",
    BATCH,
    check,
    samples,
)
WORKLOADS = (RECORDS,)


def _forebay(setting: Setting, form: str, order: str) -> Iterable[Any]:
    import torch

    import forebay as fb

    loader = fb.DataLoader(
        fb.open_dataset(setting.data / form, columns=["ids"]),
        batch_size=setting.batch,
        shuffle=order,
        seed=0,
        drop_last=True,
        num_workers=setting.workers,
        memory="1GB",
        decode={"ids": fb.transforms.Pad()},
    )

    def pair(batch: list[Any]) -> Any:
        return batch[0], torch.from_numpy(loader.batch_info.lengths["ids"])

    return Epochs(lambda _: map(pair, loader))


@RECORDS.peer("recordio", imports=FOREBAY)
def forebay(setting: Setting) -> Iterable[Any]:
    """RecordIO shards, uncompressed, all records shuffled ("full"); one thread a processor;
    memory="1GB"; padded by the loader (`transforms.Pad`), lengths from `batch_info`."""
    return _forebay(setting, "recordio", "full")


@RECORDS.peer("recordio", imports=FOREBAY)
def forebay_window(setting: Setting) -> Iterable[Any]:
    """As forebay, shuffled over a window of 64 MB."""
    return _forebay(setting, "recordio", "window")


@RECORDS.peer("parquet", imports=FOREBAY)
def forebay_parquet(setting: Setting) -> Iterable[Any]:
    """As forebay, zstd Parquet shards, shuffled over a window of 64 MB."""
    return _forebay(setting, "parquet", "window")


def _floor(setting: Setting, kernel: Callable[..., Any]) -> Iterable[Any]:
    rows = gather.resident(setting.data / "columns")

    def epoch(number: int) -> Iterator[Any]:
        for index in gather.batches(len(rows), setting.batch, number):
            yield gather.tensors(kernel(rows, index))

    return Epochs(epoch)


@RECORDS.peer("columns", imports=("numba",))
def floor_numba(setting: Setting) -> Iterable[Any]:
    """Floor: all values in memory, a numba gather in the consumer's thread."""
    return _floor(setting, gather.with_numba)


@RECORDS.peer("columns")
def floor_numpy(setting: Setting) -> Iterable[Any]:
    """Floor: all values in memory, a NumPy gather in the consumer's thread."""
    return _floor(setting, gather.with_numpy)


class _Batches:
    """A torch dataset whose items are whole batches."""

    def __init__(self, rows: Rows, kernel: Callable[..., Any]) -> None:
        self._rows, self._kernel = rows, kernel

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: list[int]) -> Any:
        return gather.tensors(self._kernel(self._rows, np.array(index)))


def _torch_batches(setting: Setting, kernel: Callable[..., Any]) -> Iterable[Any]:
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler

    dataset: Any = _Batches(gather.resident(setting.data / "columns"), kernel)
    sampler = BatchSampler(RandomSampler(dataset), setting.batch, drop_last=True)
    return DataLoader(dataset, sampler=sampler, batch_size=None)


@RECORDS.peer("columns", imports=("numba", "torch.utils.data"))
def torch_batches_numba(setting: Setting) -> Iterable[Any]:
    """Hand-written: torch DataLoader, 0 workers, a BatchSampler as sampler, so that the dataset
    builds whole batches with a numba gather; all values in memory."""
    return _torch_batches(setting, gather.with_numba)


@RECORDS.peer("columns", imports=("torch.utils.data",))
def torch_batches_numpy(setting: Setting) -> Iterable[Any]:
    """As torch-batches-numba with a NumPy gather."""
    return _torch_batches(setting, gather.with_numpy)


def _torch_rows(setting: Setting, workers: int) -> Iterable[Any]:
    from torch.utils.data import DataLoader

    rows = Rows(setting.data / "columns")
    items: Any = np.split(np.array(rows.values), rows.starts[1:-1])
    return DataLoader(
        items,
        batch_size=setting.batch,
        shuffle=True,
        drop_last=True,
        collate_fn=gather.pad_tensors,
        num_workers=workers,
        persistent_workers=workers > 0,
    )


@RECORDS.peer("columns", imports=("torch.utils.data",))
def torch_list(setting: Setting) -> Iterable[Any]:
    """Torch DataLoader, 0 workers, over a list of a million arrays in memory; the collate function
    pads in NumPy."""
    return _torch_rows(setting, 0)


@RECORDS.peer("columns", imports=("torch.utils.data",))
def torch_workers(setting: Setting) -> Iterable[Any]:
    """As torch-list with one persistent worker a processor: handing a batch over costs more than
    making it."""
    import torch

    torch.multiprocessing.set_sharing_strategy("file_system")
    return _torch_rows(setting, setting.workers)


@RECORDS.peer("columns", environment="torchdata", imports=("torchdata.nodes",))
def torchdata_nodes(setting: Setting) -> Iterable[Any]:
    """torchdata.nodes: RandomSampler, Batcher, then one Mapper that pads a batch out of a list in
    memory, prefetch of 4; more threads are slower, since all of it holds the GIL."""
    import torch
    from torchdata import nodes

    rows = gather.resident(setting.data / "columns")

    def build(index: list[int]) -> Any:
        return gather.tensors(gather.with_numpy(rows, np.array(index)))

    sampler: Any = torch.utils.data.RandomSampler(range(len(rows)))
    node: Any = nodes.Batcher(nodes.SamplerWrapper(sampler), setting.batch, drop_last=True)
    return nodes.Loader(nodes.Prefetcher(nodes.Mapper(node, build), 4))


@RECORDS.peer("columns", environment="spdl", imports=("spdl.pipeline",))
def spdl(setting: Setting) -> Iterable[Any]:
    """SPDL pipeline over whole batches of indices, a NumPy gather in one thread a processor, buffer
    of 8; built anew for each epoch."""
    from spdl.pipeline import PipelineBuilder

    rows = gather.resident(setting.data / "columns")

    def build(index: Any) -> Any:
        return gather.tensors(gather.with_numpy(rows, index))

    def epoch(number: int) -> Iterator[Any]:
        source = gather.batches(len(rows), setting.batch, number)
        builder = PipelineBuilder().add_source(source).pipe(build, concurrency=setting.workers)
        pipeline = builder.add_sink(8).build(num_threads=setting.workers)
        with pipeline.auto_stop():
            yield from pipeline

    return Epochs(epoch)


@RECORDS.peer(
    "array-record",
    environment="grain",
    imports=("grain", "array_record.python.array_record_module"),
)
def grain_threads(setting: Setting) -> Iterable[Any]:
    """Grain over 64 ArrayRecord files of the first 200,000 samples: shuffle, map, batch with a
    padding function; one read thread a processor, buffer of 16 batches."""
    import grain

    files = sorted(map(str, (setting.data / "array-record").iterdir()))
    source = grain.sources.ArrayRecordDataSource(files)

    def epoch(number: int) -> Iterator[Any]:
        dataset = grain.MapDataset.source(source).shuffle(seed=number)
        dataset = dataset.map(lambda data: np.frombuffer(data, np.int32))
        dataset = dataset.batch(setting.batch, drop_remainder=True, batch_fn=gather.pad)
        options = grain.ReadOptions(num_threads=setting.workers, prefetch_buffer_size=16)
        return map(gather.tensors, dataset.to_iter_dataset(options))

    return Epochs(epoch)


class _Pad:
    """A collate function over samples that are dicts with `ids`."""

    def __call__(self, rows: list[dict[str, Any]]) -> list[Any]:
        return gather.tensors(gather.pad([row["ids"] for row in rows]))


@RECORDS.peer("mds", environment="mosaic", imports=("streaming", "torch.utils.data"))
def mosaic(setting: Setting) -> Iterable[Any]:
    """MosaicML StreamingDataset over local uncompressed MDS of the first 200,000 samples,
    shuffle=True, in torch's DataLoader with 0 workers: its fastest here."""
    import streaming
    from torch.utils.data import DataLoader

    streaming.base.util.clean_stale_shared_memory()
    local = str(setting.data / "mds")
    dataset = streaming.StreamingDataset(local=local, shuffle=True, batch_size=setting.batch)
    return DataLoader(dataset, setting.batch, drop_last=True, collate_fn=_Pad())


@RECORDS.peer("litdata", environment="litdata", imports=("litdata",))
def litdata(setting: Setting) -> Iterable[Any]:
    """LitData StreamingDataset over local chunks of the first 200,000 samples, shuffle=True, in its
    StreamingDataLoader with 0 workers: its fastest here."""
    from litdata import StreamingDataLoader, StreamingDataset

    dataset = StreamingDataset(str(setting.data / "litdata"), shuffle=True, drop_last=True)
    return StreamingDataLoader(
        dataset, batch_size=setting.batch, collate_fn=gather.pad_tensors, drop_last=True
    )


def _tokens(data: bytes) -> Any:
    return np.frombuffer(data, np.int32)


@RECORDS.peer("tar", environment="webdataset", imports=("webdataset",))
def webdataset(setting: Setting) -> Iterable[Any]:
    """WebDataset over eight local tar files of the first 200,000 samples, shuffle buffer of 10,000,
    in WebLoader with one persistent worker a processor, batches made in the worker."""
    import webdataset as wds

    urls = sorted(map(str, (setting.data / "tar").glob("*.tar")))
    dataset = (
        wds.WebDataset(urls, shardshuffle=100, seed=0)
        .shuffle(10_000, initial=1_000)
        .to_tuple("bin")
        .map_tuple(_tokens)
        .batched(setting.batch, partial=False, collation_fn=_first_field)
    )
    options = {"num_workers": setting.workers, "persistent_workers": True}
    return wds.WebLoader(dataset, batch_size=None, **options)


def _first_field(rows: list[tuple[Any]]) -> list[Any]:
    return gather.pad_tensors([row[0] for row in rows])


@RECORDS.peer("arrow", environment="datasets", imports=("datasets", "torch.utils.data"))
def huggingface_arrow(setting: Setting) -> Iterable[Any]:
    """Hugging Face datasets in "arrow" format, indexed by whole batches, padded from Arrow's
    offsets by NumPy; 0 workers. The way its users take is huggingface-torch."""
    import pyarrow as pa
    from datasets import load_from_disk

    dataset = load_from_disk(str(setting.data / "arrow")).with_format("arrow")

    def build(index: Any) -> Any:
        return gather.tensors(_padded_arrow(dataset[index]["ids"], pa))

    def epoch(number: int) -> Iterator[Any]:
        return map(build, gather.batches(len(dataset), setting.batch, number))

    return Epochs(epoch)


def _padded_arrow(column: Any, pa: Any) -> gather.Padded:
    """A list column of pyarrow's, padded."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    starts = np.asarray(array.offsets)
    lengths = np.diff(starts).astype(np.int64)
    inside = np.arange(int(lengths.max())) < lengths[:, None]
    out = np.zeros(inside.shape, np.int32)
    out[inside] = np.asarray(array.values)[starts[0] : starts[-1]]
    return out, lengths


@RECORDS.peer("arrow", environment="datasets", imports=("datasets", "torch.utils.data"))
def huggingface_torch(setting: Setting) -> Iterable[Any]:
    """Hugging Face datasets in "torch" format in torch's DataLoader with 0 workers, a collate
    function that pads."""
    from datasets import load_from_disk
    from torch.utils.data import DataLoader

    dataset = load_from_disk(str(setting.data / "arrow")).with_format("torch")
    return DataLoader(dataset, setting.batch, shuffle=True, drop_last=True, collate_fn=_Pad())


@RECORDS.peer("lance", environment="lance", imports=("lance", "pyarrow"))
def lance_scan(setting: Setting) -> Iterable[Any]:
    """Lance scanner with its own threads, batch readahead of 16; only the order of batches would
    be shuffled, so this is less than the task: neighbours stay together."""
    import lance
    import pyarrow as pa

    dataset = lance.dataset(str(setting.data / "lance"))

    def epoch(_: int) -> Iterator[Any]:
        for batch in dataset.to_batches(batch_size=setting.batch, batch_readahead=16):
            if len(batch) == setting.batch:
                yield gather.tensors(_padded_arrow(batch["ids"], pa))

    return Epochs(epoch)


@RECORDS.peer("lance", environment="lance", imports=("lance", "pyarrow"))
def lance_take(setting: Setting) -> Iterable[Any]:
    """Lance `take` of a batch's rows in random order, in the consumer's thread."""
    import lance
    import pyarrow as pa

    dataset = lance.dataset(str(setting.data / "lance"))
    count = dataset.count_rows()

    def epoch(number: int) -> Iterator[Any]:
        for index in gather.batches(count, setting.batch, number):
            yield gather.tensors(_padded_arrow(dataset.take(index)["ids"], pa))

    return Epochs(epoch)
