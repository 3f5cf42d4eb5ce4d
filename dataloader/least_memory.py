"""How many bytes a run needs at least, checked at the door."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forebay.dataloader.config import LoaderConfig
from forebay.dataloader.fetch.scattered import scattered_cost
from forebay.dataloader.flow.ticket import Scattered
from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.footprint import resident_bytes
from forebay.formats.errors import ShardError
from forebay.formats.streamed import Streamed

SAMPLE = 8
"""Blocks looked at to estimate what the chosen columns take."""

SAMPLE_ROWS = 64
"""Rows looked at to estimate what rows take that are read one by one."""

TOGETHER_ROWS = 1 << 14
TOGETHER_SHARE = 64
"""Small batches travel together up to so many samples, and up to this part of a budget."""

INDEX_SHARE = 4
"""Footers and indexes may take this part of a budget: a quarter."""

log = logging.getLogger("forebay")


@dataclass(frozen=True, slots=True)
class Costs:
    """What reading a dataset's columns costs, measured once on a sample of its blocks.

    Args:
        share: of blocks' bytes that the columns take, the largest met.
        largest: bytes that one read holds while it works, the most met.
    """

    share: float
    largest: int

    @staticmethod
    def of(dataset: Streamed) -> Costs:
        """Measures them."""
        blocks = _sample(dataset)
        costs = [dataset.cost(b) for b in blocks]
        whole = [int(dataset.blocks.bytes[b]) for b in blocks]
        shares = [c[0] / size for c, size in zip(costs, whole, strict=True) if size]
        return Costs(min(1.0, max(shares, default=1.0)), max(map(sum, costs), default=0))


def _sample(dataset: Streamed) -> list[int]:
    """Some blocks from all over the dataset, the largest among them."""
    count = len(dataset.blocks)
    if not count:
        return []
    spread = np.linspace(0, count - 1, min(count, SAMPLE)).astype(int)
    return [*spread.tolist(), int(dataset.blocks.memory.argmax())]


def list_bytes(dataset: Streamed, costs: Costs, decoded: Mapping[str, Any]) -> int:
    """Estimated bytes of one sample's fields of differing size, for the slot's charge."""
    varying = [f for f in dataset.schema if f.kind != "fixed" and f.name not in decoded]
    if not varying or not len(dataset):
        return 0
    return int(dataset.sample_memory * costs.share) + 100 * len(varying)


def index_bytes(dataset: Streamed, memory: int) -> int:
    """Bytes that footers and indexes may take of a budget: up to a quarter."""
    return dataset.overhead(memory // INDEX_SHARE)


def least_memory(
    dataset: Streamed, costs: Costs, resident: int, batch_bytes: int, batches: int = 2
) -> int:
    """The least budget for so many bytes of resident blocks: with a read, batches, indexes."""
    need = resident + costs.largest + batches * batch_bytes
    every_index = dataset.overhead(1 << 62)
    return min(need + every_index, -(-need * INDEX_SHARE // (INDEX_SHARE - 1)))


def scattered_bytes(dataset: Streamed, count: int) -> int:
    """Bytes that so many rows take that are read one by one, while they are read too.

    Estimated by some rows from all over the dataset, and a quarter more.
    """
    count = min(count, len(dataset))
    rows = np.linspace(0, len(dataset) - 1, min(count, SAMPLE_ROWS)).astype(np.int64)
    try:
        cost = scattered_cost(dataset, Scattered(*dataset.blocks.locate(rows)))
    except ShardError:
        # The samples' own faults will say so.
        return 0
    return sum(cost) * count * 5 // (4 * len(rows))


def check_memory(
    config: LoaderConfig,
    plan: PlanSettings,
    dataset: Streamed,
    costs: Costs,
    batch_bytes: int,
) -> int:
    """Refuses a budget that cannot hold the order's blocks, a read, two batches and the indexes.

    Returns the bytes that it has beyond these.

    Raises:
        ValueError: names the least value that works.
    """
    if not len(dataset.blocks):
        return config.memory
    blocks = (dataset.blocks.memory * costs.share).astype("int64")
    if plan.by_record:
        window = scattered_bytes(dataset, config.batch_size)
    else:
        window = resident_bytes(plan, blocks, plan.known_epoch, config.global_batch, config.ranks)
    least = least_memory(dataset, costs, window, batch_bytes)
    if plan.by_record:
        # Of few blocks all may take less.
        least = min(least, least_memory(dataset, costs, int(blocks.sum()), batch_bytes))
    if config.memory < least:
        raise ValueError(
            f"memory={config.memory} bytes is too little for order {config.order!r}: it needs "
            f"{window} for resident blocks, {costs.largest} to read one more, "
            f"{2 * batch_bytes} for two batches, and room for indexes; give memory={least} or "
            "more, or a smaller batch_size or window_bytes"
        )
    _warn(config, plan, dataset, held=int(blocks.sum()))
    return config.memory - least


def together(
    config: LoaderConfig,
    plan: PlanSettings,
    dataset: Streamed,
    costs: Costs,
    batch_bytes: int,
) -> int:
    """How many batches travel in one ticket: as many as are small, where memory has room.

    What a ticket costs does not depend on its size, so small batches would pay for little else.
    """
    by_rows = TOGETHER_ROWS // config.batch_size
    by_bytes = config.memory // TOGETHER_SHARE // max(1, batch_bytes)
    count = min(by_rows, by_bytes)
    if count < 2:
        return 1
    if plan.by_record:
        held = scattered_bytes(dataset, config.batch_size * count)
    else:
        blocks = (dataset.blocks.memory * costs.share).astype("int64")
        batch = config.global_batch * count
        held = resident_bytes(plan, blocks, plan.known_epoch, batch, config.ranks)
    fits = config.memory >= least_memory(dataset, costs, held, batch_bytes * count)
    return count if fits else 1


def _warn(config: LoaderConfig, plan: PlanSettings, dataset: Streamed, held: int) -> None:
    """Tells of plans that work, but read the dataset over and over."""
    if plan.by_record and (indexes := dataset.overhead(1 << 62)) > config.memory // INDEX_SHARE:
        log.warning(
            "order %r over single records needs %d bytes of indexes, and %d have room: "
            "almost every sample reads an index anew; give memory=%d or more, or shuffle='window'",
            config.order,
            indexes,
            config.memory // INDEX_SHARE,
            INDEX_SHARE * indexes,
        )
    if plan.anywhere and not plan.by_record and held > config.memory:
        log.warning(
            "order %r over blocks larger than memory reads a block anew for almost every "
            "sample, about %.0f times the dataset an epoch; shuffle='window' reads it once, and "
            "RecordIO shards read single records",
            config.order,
            len(dataset) / max(1, len(dataset.blocks)),
        )
