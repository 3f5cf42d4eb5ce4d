"""Tokens: shuffled blocks of 2,048 int32 out of a gigabyte, batches of 16."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import gather
from .case import FOREBAY, Epochs, Setting, Workload
from .corpus.arrays import Rows

BATCH = 16
LENGTH = 2_048


def samples(batch: Any) -> int:
    """Blocks of a batch."""
    return len(batch)


def check(batch: Any, setting: Setting) -> int:
    """Raises ValueError unless a batch is (16, 2048) int32 of tokens."""
    import torch

    if not isinstance(batch, torch.Tensor) or batch.shape != (setting.batch, LENGTH):
        raise ValueError(f"expected ({setting.batch}, {LENGTH}), got {batch!r:.200}")
    if batch.dtype != torch.int32 or int(batch.max()) < 1_000:
        raise ValueError(f"expected int32 tokens, got {batch.dtype} up to {batch.max()}")
    return len(batch)


TOKENS = Workload(
    "tokens",
    "Blocks of 2,048 int32 tokens out of 1 GB, shuffled, batch 16",
    "blocks",
    "tokens",
    BATCH,
    check,
    samples,
    sample_bytes=4 * LENGTH,
)
WORKLOADS = (TOKENS,)


def _forebay(setting: Setting, form: str) -> Iterable[Any]:
    import forebay as fb

    loader = fb.DataLoader(
        fb.open_dataset(setting.data / form, columns=["ids"]),
        batch_size=setting.batch,
        shuffle="window",
        seed=0,
        drop_last=True,
        num_workers=setting.workers,
        memory="512MB",
    )
    return Epochs(lambda _: (ids for (ids,) in loader))


@TOKENS.peer("recordio", imports=FOREBAY)
def forebay(setting: Setting) -> Iterable[Any]:
    """RecordIO shards, int32[2048], uncompressed, shuffled over a window of 64 MB; one thread a
    processor; memory="512MB". Every byte is checked against its CRC-32C."""
    return _forebay(setting, "recordio")


@TOKENS.peer("recordio-zstd", imports=FOREBAY)
def forebay_zstd(setting: Setting) -> Iterable[Any]:
    """As forebay, each record compressed with zstd of level 3."""
    return _forebay(setting, "recordio-zstd")


@TOKENS.peer("recordio-uint16", imports=FOREBAY)
def forebay_uint16(setting: Setting) -> Iterable[Any]:
    """As forebay, stored as uint16; made int32 by the consumer, a batch at a time."""
    import torch

    loader = _forebay(setting, "recordio-uint16")
    return Epochs(lambda _: (ids.to(torch.int32) for ids in loader))


def _mapped(setting: Setting) -> Any:
    return Rows(setting.data / "columns").values.reshape(-1, LENGTH)


@TOKENS.peer("columns")
def floor_numpy(setting: Setting) -> Iterable[Any]:
    """Floor: a NumPy gather of whole rows out of the mapped file, in the consumer's thread."""
    import torch

    table = np.asarray(_mapped(setting))

    def epoch(number: int) -> Iterator[Any]:
        for index in gather.batches(len(table), setting.batch, number):
            yield torch.from_numpy(table[index])

    return Epochs(epoch)


class _Frames:
    """The zstd frames of all shards in memory, and where each lies."""

    def __init__(self, folder: Path) -> None:
        import pyarrow as pa

        from forebay.kernels.frames import open_frames

        files = sorted(folder.rglob("*.rec"))
        self._data = np.concatenate([np.fromfile(file, np.uint8) for file in files])
        starts, lengths, before = [], [], 0
        for file in files:
            index = pa.ipc.open_file(str(file.with_suffix(".index.arrow"))).read_all()
            starts.append(index["offset"].to_numpy().astype(np.int64) + before)
            lengths.append(index["length"].to_numpy().astype(np.int64))
            before += file.stat().st_size
        spans = open_frames(self._data, np.concatenate(starts), np.concatenate(lengths))
        self._starts, self._lengths, bad = spans
        if bad is not None:
            raise ValueError(f"{folder} has {int((bad > 0).sum())} damaged records")

    def __len__(self) -> int:
        return len(self._starts)

    def rows(self, index: Any) -> Any:
        """(n, LENGTH) int32, new."""
        from forebay.kernels.zstd import decompress_frames

        out = np.empty((len(index), LENGTH), np.int32)
        sizes = np.full(len(index), 4 * LENGTH)
        room = out.reshape(-1).view(np.uint8)
        places = np.cumsum(sizes) - sizes
        starts, lengths = self._starts[index], self._lengths[index]
        if decompress_frames(self._data, starts, lengths, room, places, sizes) is not None:
            raise ValueError("a record is not one zstd frame of its size")
        return out


@TOKENS.peer("recordio-zstd", imports=("forebay.kernels.zstd",))
def floor_zstd(setting: Setting) -> Iterable[Any]:
    """Floor of forebay-zstd: its compressed records in memory, their places known; one thread a
    processor decompresses 64 shuffled batches a call, nothing is read or checked, no loader."""
    import torch

    frames = _Frames(setting.data / "recordio-zstd")
    pool = ThreadPoolExecutor(setting.workers)

    def epoch(number: int) -> Iterator[Any]:
        calls = gather.batches(len(frames), 64 * setting.batch, number)
        ahead = [pool.submit(frames.rows, index) for index in islice(calls, 4)]
        while ahead:
            many = torch.from_numpy(ahead.pop(0).result())
            ahead += [pool.submit(frames.rows, index) for index in islice(calls, 1)]
            yield from many.split(setting.batch)

    return Epochs(epoch)


class _Blocks:
    """A torch dataset of blocks of a mapped file."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, i: int) -> Any:
        import torch

        return torch.from_numpy(np.array(self._table[i]))

    def __getitems__(self, index: list[int]) -> Any:
        import torch

        return torch.from_numpy(self._table[np.array(index)])


def _same(batch: Any) -> Any:
    return batch


@TOKENS.peer("columns", imports=("torch.utils.data",))
def torch_batches(setting: Setting) -> Iterable[Any]:
    """Hand-written: torch DataLoader, 0 workers, a dataset over the mapped file whose
    __getitems__ gathers a whole batch; no collating."""
    from torch.utils.data import DataLoader

    dataset: Any = _Blocks(np.asarray(_mapped(setting)))
    return DataLoader(dataset, setting.batch, shuffle=True, drop_last=True, collate_fn=_same)


@TOKENS.peer("columns", imports=("torch.utils.data",))
def torch_workers(setting: Setting) -> Iterable[Any]:
    """As torch-batches with one persistent worker a processor: the hand-over binds."""
    import torch
    from torch.utils.data import DataLoader

    torch.multiprocessing.set_sharing_strategy("file_system")
    dataset: Any = _Blocks(np.asarray(_mapped(setting)))
    options = {"num_workers": setting.workers, "persistent_workers": True, "collate_fn": _same}
    return DataLoader(dataset, setting.batch, shuffle=True, drop_last=True, **options)


@TOKENS.peer("columns", environment="spdl", imports=("spdl.pipeline",))
def spdl(setting: Setting) -> Iterable[Any]:
    """SPDL pipeline over whole batches of indices, a NumPy gather from the mapped file in one
    thread a processor, buffer of 8; built anew for each epoch."""
    import torch
    from spdl.pipeline import PipelineBuilder

    table = np.asarray(_mapped(setting))

    def build(index: Any) -> Any:
        return torch.from_numpy(table[index])

    def epoch(number: int) -> Iterator[Any]:
        source = gather.batches(len(table), setting.batch, number)
        builder = PipelineBuilder().add_source(source).pipe(build, concurrency=setting.workers)
        pipeline = builder.add_sink(8).build(num_threads=setting.workers)
        with pipeline.auto_stop():
            yield from pipeline

    return Epochs(epoch)


@TOKENS.peer("mds", environment="mosaic", imports=("streaming", "torch.utils.data"))
def mosaic(setting: Setting) -> Iterable[Any]:
    """MosaicML StreamingDataset over local uncompressed MDS of the first fifth, shuffle=True, in
    torch's DataLoader with 0 workers."""
    import streaming
    import torch
    from torch.utils.data import DataLoader

    streaming.base.util.clean_stale_shared_memory()
    local = str(setting.data / "mds")
    dataset = streaming.StreamingDataset(local=local, shuffle=True, batch_size=setting.batch)

    def stack(rows: list[dict[str, Any]]) -> Any:
        return torch.from_numpy(np.stack([row["ids"] for row in rows]))

    return DataLoader(dataset, setting.batch, drop_last=True, collate_fn=stack)


@TOKENS.peer("litdata", environment="litdata", imports=("litdata",))
def litdata(setting: Setting) -> Iterable[Any]:
    """LitData StreamingDataset over local chunks of the first fifth, shuffle=True, in its
    StreamingDataLoader with 0 workers."""
    import torch
    from litdata import StreamingDataLoader, StreamingDataset

    def stack(rows: list[Any]) -> Any:
        return torch.from_numpy(np.stack([np.asarray(row) for row in rows]))

    dataset = StreamingDataset(str(setting.data / "litdata"), shuffle=True, drop_last=True)
    return StreamingDataLoader(dataset, batch_size=setting.batch, collate_fn=stack, drop_last=True)


def _arrow_rows(column: Any) -> Any:
    """A list column whose every value has LENGTH tokens, as a tensor of its own memory."""
    import pyarrow as pa
    import torch

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    flat = np.asarray(array.flatten()).reshape(-1, LENGTH)
    return torch.from_numpy(flat if flat.flags.writeable else flat.copy())


@TOKENS.peer("arrow", environment="datasets", imports=("datasets",))
def huggingface_arrow(setting: Setting) -> Iterable[Any]:
    """Hugging Face datasets in "arrow" format, indexed by whole batches; 0 workers."""
    from datasets import load_from_disk

    dataset = load_from_disk(str(setting.data / "arrow")).with_format("arrow")

    def epoch(number: int) -> Iterator[Any]:
        for index in gather.batches(len(dataset), setting.batch, number):
            yield _arrow_rows(dataset[index]["ids"])

    return Epochs(epoch)


@TOKENS.peer("lance", environment="lance", imports=("lance",))
def lance_scan(setting: Setting) -> Iterable[Any]:
    """Lance scanner with its own threads; neighbours stay together, so this is less than the
    task."""
    import lance

    dataset = lance.dataset(str(setting.data / "lance"))

    def epoch(_: int) -> Iterator[Any]:
        for batch in dataset.to_batches(batch_size=setting.batch, batch_readahead=16):
            if len(batch) == setting.batch:
                yield _arrow_rows(batch["ids"])

    return Epochs(epoch)
