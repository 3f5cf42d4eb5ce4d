"""How many bytes a run needs at least, checked at the door."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from forebay.dataloader.config import LoaderConfig
from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.footprint import resident_bytes
from forebay.formats.dataset import ShardDataset

log = logging.getLogger("forebay")


def resident_share(dataset: ShardDataset) -> float:
    """Share of a whole block's memory that the dataset's columns take, measured on block 0."""
    if not len(dataset.blocks) or not dataset.blocks.memory[0]:
        return 1.0
    _, memory = dataset.cost(0)
    return float(min(1.0, memory / int(dataset.blocks.memory[0])))


def list_bytes(dataset: ShardDataset, decoded: Mapping[str, Any]) -> int:
    """Estimated bytes of one sample's fields of differing size, for the slot's charge."""
    varying = [f for f in dataset.schema if f.kind != "fixed" and f.name not in decoded]
    if not varying or not len(dataset):
        return 0
    mean = int(dataset.blocks.memory.sum() * resident_share(dataset)) // len(dataset)
    return mean + 100 * len(varying)


def check_memory(
    config: LoaderConfig, plan: PlanSettings, dataset: ShardDataset, batch_bytes: int
) -> None:
    """Refuses a budget that cannot hold the order's blocks, a read, two batches and the indexes.

    Raises:
        ValueError: names the least value that works.
    """
    if not len(dataset.blocks):
        return
    share = resident_share(dataset)
    blocks = (dataset.blocks.memory * share).astype("int64")
    largest = int(blocks.max() + dataset.blocks.bytes.max() * share)
    window = 0 if plan.by_record else resident_bytes(plan, blocks, epoch=0)
    indexes = dataset.overhead()
    least = window + largest + 2 * batch_bytes + indexes
    if config.memory < least:
        raise ValueError(
            f"memory={config.memory} bytes is too little for order {config.order!r}: it needs "
            f"{window} for resident blocks, {largest} to read one more, {2 * batch_bytes} for two "
            f"batches and {indexes} for indexes; give memory={least} or more, or a smaller "
            "batch_size or window_bytes"
        )
    if config.order == "full" and not plan.by_record and int(blocks.sum()) > config.memory:
        log.warning(
            "shuffle='full' over blocks larger than memory reads a block anew for almost every "
            "sample, about %.0f times the dataset an epoch; shuffle='window' reads it once, and "
            "RecordIO shards read single records",
            len(dataset) / max(1, len(dataset.blocks)),
        )
