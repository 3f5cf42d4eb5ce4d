"""The loader: describes a run, builds it for each epoch, and hands its batches out."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from forebay.dataloader.batch.fixed import Fixed
from forebay.dataloader.batch.stage import About, BatchStage
from forebay.dataloader.config import (
    DEVICES,
    LoaderConfig,
    decoders_of,
    memory_of,
    order_of,
    threads_of,
    whole,
)
from forebay.dataloader.decode.pad import Pad
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.decode.stage import DecodeStage
from forebay.dataloader.device.cpu import CpuDevice
from forebay.dataloader.device.pool import SlotPool
from forebay.dataloader.fetch.stage import FetchStage
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.info import BatchInfo
from forebay.dataloader.flow.kept import Kept
from forebay.dataloader.flow.line import Line, LineSettings
from forebay.dataloader.flow.runner import Runner, Stages
from forebay.dataloader.flow.ticket import Cutting
from forebay.dataloader.least_memory import (
    Costs,
    check_memory,
    index_bytes,
    least_memory,
    list_bytes,
    together,
)
from forebay.dataloader.plan.epoch import EpochPlan, PlanSettings
from forebay.dataloader.plan.window import window_shape
from forebay.dataloader.progress import Progress
from forebay.formats.column import Block
from forebay.formats.dataset import ShardDataset
from forebay.telemetry.meter import Board
from forebay.telemetry.stats import LoaderStats


class DataLoader:
    """Streams a shard dataset as batches of tensors.

    Args:
        dataset: from `forebay.open_dataset`.
        batch_size: samples a batch.
        shuffle: False keeps the order at rest. True shuffles all records where single ones can be
            read (RecordIO), else a window of blocks (Parquet). "window", "full" and "blocks" ask by
            name.
        num_workers: threads; None takes all processors available, 0 works in the caller's thread.
        drop_last: whether a short last batch is left out.
        seed: of the order and of every random number; None is 0.
        decode: what to make of fields, such as {"image": forebay.Image(...)} or
            {"ids": forebay.transforms.Pad()}. Without it encoded fields come as lists of bytes, and
            ragged ones as lists of tensors.
        memory: bytes that the loader may hold, such as "1GB" or "512MiB".
        window_bytes: of blocks that the window order mixes at a time, in memory.
        prefetch: batches under way at once, ready ones included; small ones count by groups.
        device: "cpu".

    A batch is a list of the dataset's columns in the order they were asked for, or a dict when
    none were asked for. Fields of one shape become tensors (N, ...), which share no memory with
    the loader; others become lists of N values.

    Raises:
        TypeError, ValueError: an argument is wrong; says which, and what to write.
    """

    def __init__(  # noqa: PLR0913 - mirrors torch's DataLoader, design 3
        self,
        dataset: ShardDataset,
        batch_size: int = 1,
        shuffle: bool | str | None = None,
        *,
        num_workers: int | None = None,
        drop_last: bool = False,
        seed: int | None = None,
        decode: Mapping[str, Image | Pad] | None = None,
        memory: int | str = "1GB",
        window_bytes: int | str = "64MB",
        prefetch: int = 4,
        device: str = "cpu",
    ) -> None:
        if not isinstance(dataset, ShardDataset):
            raise TypeError(
                "DataLoader takes a dataset from forebay.open_dataset, "
                f"got {type(dataset).__name__}; pack other data with `forebay pack` first"
            )
        if device not in DEVICES:
            raise ValueError(f"device must be one of {DEVICES}, got {device!r}")
        self.dataset = dataset
        self.config = LoaderConfig(
            batch_size=whole("batch_size", batch_size, 1),
            order=order_of(shuffle, dataset),
            seed=whole("seed", 0 if seed is None else seed, 0, 2**64 - 1),
            drop_last=bool(drop_last),
            threads=threads_of(num_workers),
            memory=memory_of("memory", memory),
            window_bytes=memory_of("window_bytes", window_bytes),
            prefetch=whole("prefetch", prefetch, 1),
            device=device,
        )
        self._images, self._pads = decoders_of(decode, dataset.schema)
        self._policy = Fixed(self.config.batch_size, self.config.drop_last)
        self._board = Board()
        self._budget = Budget(self.config.memory)
        self._pool = SlotPool(self._budget)
        self._progress = Progress(self._board, self._budget, self.config.threads)
        costs = Costs.of(dataset)
        self._batch = BatchStage(
            dataset.schema,
            self._images,
            self._pads,
            as_dict=dataset.columns is None,
            list_bytes=list_bytes(dataset, costs, self._images),
        )
        # A batch is never larger than the dataset.
        batch_bytes = self._batch.declare().nbytes(min(self.config.batch_size, len(dataset)))
        fits = self._fits(costs, batch_bytes)
        self._plan = self._settings(fits)
        self._epoch = 0
        self._about: tuple[About, int] | None = None
        check_memory(self.config, self._plan, dataset, costs, batch_bytes)
        # What is decoded takes so long that a batch of it is enough for a ticket.
        self._together = (
            1 if self._images else together(self.config, self._plan, dataset, costs, batch_bytes)
        )
        self._kept = Kept(self._budget, _undamaged) if fits else None
        self._budget.charge("indexes", index_bytes(dataset, self.config.memory))

    def __len__(self) -> int:
        """Batches in an epoch."""
        return self._policy.steps(len(self.dataset))

    def __iter__(self) -> Iterator[Any]:
        """The batches of the next epoch. Each call begins a new one, at its first batch."""
        epoch, self._epoch = self._epoch, self._epoch + 1
        return EpochIterator(self, self._build(epoch))

    @property
    def epoch(self) -> int:
        """The epoch that the next `iter()` begins."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch that the next `iter()` begins; otherwise they count up from 0."""
        self._epoch = whole("epoch", epoch, 0, 2**64 - 1)

    @property
    def batch_info(self) -> BatchInfo:
        """About the batch last delivered.

        Raises:
            ValueError: none has been delivered yet.
        """
        if self._about is None:
            raise ValueError("batch_info: no batch has been delivered yet")
        about, part = self._about
        return about.info(part)

    def stats(self) -> LoaderStats:
        """What the loader has done since it was made."""
        return self._progress.stats()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a DataLoader is not picklable: it holds memory and threads of this process; send its "
            "dataset, which is, and make a loader from it over there"
        )

    def __repr__(self) -> str:
        return f"DataLoader({self.dataset!r}, {self.config!r})"

    def _fits(self, costs: Costs, batch_bytes: int) -> bool:
        """Whether all blocks fit in memory beside the work, so that they can stay."""
        config, held = self.config, int(self.dataset.blocks.memory.sum() * costs.share)
        batches = max(2, config.prefetch)
        return config.memory >= least_memory(self.dataset, costs, held, batch_bytes, batches)

    def _settings(self, fits: bool) -> PlanSettings:
        config, blocks = self.config, self.dataset.blocks
        return PlanSettings(
            first_row=blocks.first_row,
            order=config.order,
            seed=config.seed,
            shape=window_shape(blocks.memory, config.window_bytes),
            # Blocks that fit are better kept: each is then read once, whatever the order.
            by_record=(config.order == "full" and self.dataset.record_readable and not fits),
        )

    def _build(self, epoch: int) -> Runner:
        config = self.config
        plan = EpochPlan(self._plan, self._policy, epoch, self._together)
        lease = self._budget.lease()
        stages = Stages(
            fetch=FetchStage(self.dataset, self._board),
            decode=DecodeStage(self.dataset.schema, self._images, self._pads, config.seed, lease),
            batch=self._batch,
            device=CpuDevice(self._pool),
        )
        cutting = Cutting(
            config.threads,
            decodes=bool(self._images),
            gathers=len(self._images) < len(self.dataset.schema),
        )
        line = Line(
            plan.tickets(),
            self._batch.declare(),
            lease,
            stages.fetch,
            stages.device,
            LineSettings(
                cutting, config.prefetch, evict_early=plan.keep_for_later, kept=self._kept
            ),
        )
        return Runner(line, stages, config.threads, self._board, self._where, lease)

    def _where(self, block: int, row: int) -> tuple[str, int]:
        shard, inside = self.dataset.shard_of(block)
        return shard.file, int(np.sum(shard.block_rows[:inside])) + row


def _undamaged(block: Block) -> bool:
    return not block.damaged


class EpochIterator:
    """One pass over an epoch. Closes on its end, on an error, and when it is dropped."""

    def __init__(self, loader: DataLoader, runner: Runner) -> None:
        self._loader = loader
        self._runner = runner
        self._progress = loader._progress
        self._progress.began()
        runner.end_with(self)
        self._finalizer = weakref.finalize(self, runner.drop)
        # Not before: an interrupt in between would leave threads that nobody ends.
        runner.start()

    def __iter__(self) -> EpochIterator:
        return self

    def __next__(self) -> Any:
        start = perf_counter()
        try:
            sealed = next(self._runner)
        except BaseException:
            self._progress.ended(perf_counter() - start)
            raise
        batch, n, part, about = sealed
        self._loader._about = (about, part)
        self._progress.delivered(n, perf_counter() - start)
        return batch

    def close(self) -> None:
        """Ends the pass: its threads have stopped and its memory is free when this returns."""
        self._runner.close()
        self._progress.ended(0.0)
