"""What a loader will do and why, told before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """A dataset of a mixture.

    Args:
        share: of the samples of an epoch.
        passes: over the dataset in an epoch.
    """

    share: float
    passes: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A loader's plan in numbers; `str()` tells it in sentences.

    Args:
        order: "sequential", "blocks", "window", "full" or "weighted".
        lanes, window_blocks: shape of the window order; 0 in the others.
        affinity: whether lanes keep their blocks from epoch to epoch.
        samples: of an epoch.
        filtered: the dataset's filter, or None.
        stored: samples of the dataset without it.
        components: of a mixture, by name.
        batches: of an epoch.
        global_batch: samples a batch, over all ranks.
        uneven: what becomes of a last batch that is short.
        rank, world_size: of this process among those that share each batch.
        shuffle_quality: what a batch is worth beside one of a full shuffle, where records that lie
            together are alike: from 0 to 1. See `plan.quality.shuffle_quality`.
        read_factor: how often an epoch reads each byte at rest, over all ranks: 1 is once. An
            estimate for full and weighted orders over blocks that do not fit in memory.
        by_record: whether single records are read, rather than blocks.
        keeps_blocks: whether blocks stay in memory from epoch to epoch, since they fit.
        memory: bytes that the loader may hold.
        threads: that work; 0 works in the consumer.
        decoders: of each decoded field, "native", "pillow" or "pad".
        user_code: of "map" and "filter", where they were given, module and name.
    """

    order: str
    lanes: int
    window_blocks: int
    affinity: bool
    samples: int
    filtered: str | None
    stored: int
    components: Mapping[str, Part]
    batches: int
    global_batch: int
    uneven: str
    rank: int
    world_size: int
    shuffle_quality: float
    read_factor: float
    by_record: bool
    keeps_blocks: bool
    memory: int
    threads: int
    decoders: Mapping[str, str]
    user_code: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """As a dict that JSON takes."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"order: {self._order()}",
            f"shuffle quality {self.shuffle_quality:.2f} of 1 (a full shuffle): what a batch is "
            "worth if records of a block are alike",
            f"reads each byte {self.read_factor:.2f} times an epoch, over all ranks: "
            f"{self._reading()}",
            f"batches: {self.batches} of {self.global_batch} samples out of {self.samples}"
            f"; a short last one: {self.uneven}",
            f"ranks: {self.rank} of {self.world_size}",
            f"memory: {self.memory} bytes; threads: {self.threads}",
        ]
        if self.filtered is not None:
            lines.append(f"filter: {self.filtered}, of {self.stored} samples")
        lines += [
            f"dataset {name}: {part.share:.2%} of the samples, {part.passes:.2f} passes an epoch"
            for name, part in self.components.items()
        ]
        lines += [f"decode {name}: {kind}" for name, kind in self.decoders.items()]
        lines += [f"{role} {name}: {self._calling()}" for role, name in self.user_code.items()]
        return "\n".join(lines)

    def _calling(self) -> str:
        if self.threads:
            return (
                "user code in the threads, one at a time where it is Python, which holds the GIL; "
                "draws from forebay.sample_rng() are exact, those from global generators are not"
            )
        return (
            "user code in the consumer's thread; forebay.sample_rng() is exact, and so are random, "
            "numpy.random and torch, which are seeded for each sample (about 7 us)"
        )

    def _order(self) -> str:
        if self.order != "window":
            return self.order
        if self.components:
            return "window, of each dataset its own"
        kept = ", the same blocks in each lane every epoch" if self.affinity else ""
        return (
            f"window, {self.lanes} lanes that shuffle {self.window_blocks} blocks at a time{kept}"
        )

    def _reading(self) -> str:
        if self.by_record:
            return "single records"
        if self.keeps_blocks:
            return "all blocks fit in memory, and later epochs read none"
        if self.order in ("full", "weighted"):
            return 'blocks, mostly for one record; shuffle="window" reads each once'
        return "whole blocks"
