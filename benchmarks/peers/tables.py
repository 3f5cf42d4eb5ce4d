"""An in-memory table: 5 M rows of 20 float32 as a TensorDataset, shuffled, batches of 4,096."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .case import FOREBAY, Epochs, Setting, Unavailable, Workload

BATCH = 4_096
WIDTH = 20


def samples(batch: Any) -> int:
    """Rows of a batch."""
    return len(batch[0])


def check(batch: Any, setting: Setting) -> int:
    """Raises ValueError unless a batch begins with (4096, 20) float32."""
    import torch

    x = batch[0]
    if not isinstance(x, torch.Tensor) or x.shape != (setting.batch, WIDTH):
        raise ValueError(f"expected ({setting.batch}, {WIDTH}), got {x!r:.200}")
    if x.dtype != torch.float32 or float(x.std()) == 0:
        raise ValueError(f"expected float32 noise, got {x.dtype}")
    return len(x)


TABLES = Workload(
    "tables",
    "A TensorDataset of 5,000,000 rows of 20 float32 in memory, shuffled, batch 4,096",
    "rows",
    "tabular",
    BATCH,
    check,
    samples,
)
WORKLOADS = (TABLES,)


def _dataset(setting: Setting) -> Any:
    import torch
    from torch.utils.data import TensorDataset

    return TensorDataset(torch.from_numpy(np.load(setting.data / "matrix" / "x.npy")))


@TABLES.peer("matrix", imports=FOREBAY)
def forebay(setting: Setting) -> Iterable[Any]:
    """forebay.DataLoader over the TensorDataset, shuffle=True."""
    import forebay as fb

    dataset: Any = _dataset(setting)
    try:
        return fb.DataLoader(dataset, batch_size=setting.batch, shuffle=True, drop_last=True)
    except TypeError as e:
        raise Unavailable(str(e)) from e


@TABLES.peer("matrix")
def floor_slicing(setting: Setting) -> Iterable[Any]:
    """Floor: index_select on the tensor by slices of a random permutation; indexing by brackets is
    four times slower."""
    import torch

    (x,) = _dataset(setting).tensors

    def epoch(_: int) -> Iterator[Any]:
        for index in torch.randperm(len(x)).split(setting.batch):
            if len(index) == setting.batch:
                yield [x.index_select(0, index)]

    return Epochs(epoch)


@TABLES.peer("matrix", imports=("torch.utils.data",))
def torch_batches(setting: Setting) -> Iterable[Any]:
    """Torch DataLoader with a BatchSampler as its sampler, so that the TensorDataset is indexed by
    whole batches; 0 workers."""
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler

    dataset = _dataset(setting)
    sampler = BatchSampler(RandomSampler(dataset), setting.batch, drop_last=True)
    return DataLoader(dataset, sampler=sampler, batch_size=None)


@TABLES.peer("matrix", imports=("torch.utils.data",))
def torch_plain(setting: Setting) -> Iterable[Any]:
    """Torch DataLoader as it is usually written, row by row; 0 workers."""
    from torch.utils.data import DataLoader

    return DataLoader(_dataset(setting), setting.batch, shuffle=True, drop_last=True)
