"""What a loader has done so far, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StageStats:
    """Sums of one stage over all its threads; seconds are thread seconds.

    Args:
        items: samples for decode and batch, blocks or reads for fetch.
        bytes: moved by the stage: at rest for fetch, decompressed for decode.
        work_s: spent working.
        wait_input_s: spent idle because nothing was there to work on.
        wait_output_s: spent idle because budget or queue had no room for more.
    """

    name: str
    calls: int
    items: int
    bytes: int
    work_s: float
    wait_input_s: float
    wait_output_s: float


@dataclass(frozen=True, slots=True)
class LoaderStats:
    """What a loader has done since it was made, over all its epochs.

    Args:
        samples: delivered to the consumer.
        wall_s: from the start of each epoch to its end, or to its last batch so far.
        stall_s: the part of `wall_s` that the consumer waited for a batch.
        first_batch_s: from the last epoch's start to its first batch; 0 before it.
        bytes_read: at rest, from the store.
        unchecked: samples read from bytes that no checksum covers (foreign files).
        budget_limit: bytes that the loader may hold.
        budget_peak: the most that it held.
        budget_overdrawn: the most that it held beyond the limit, so that the head could move.
        budget_by_account: bytes held now, by account of the budget.
        stages: sums by stage.
    """

    epochs: int
    batches: int
    samples: int
    threads: int
    wall_s: float
    stall_s: float
    first_batch_s: float
    bytes_read: int
    unchecked: int
    budget_limit: int
    budget_peak: int
    budget_overdrawn: int
    budget_by_account: Mapping[str, int]
    stages: tuple[StageStats, ...]

    @property
    def stall_share(self) -> float:
        """Share of the wall time that the consumer waited, 0 to 1."""
        return self.stall_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def samples_per_s(self) -> float:
        """Samples delivered per second of wall time."""
        return self.samples / self.wall_s if self.wall_s > 0 else 0.0

    def stage(self, name: str) -> StageStats:
        """The sums of one stage.

        Raises:
            KeyError: no stage of that name has worked yet.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(f"no stage {name!r}; there are {', '.join(s.name for s in self.stages)}")

    def to_json(self) -> dict[str, Any]:
        """Plain values, for json.dumps."""
        return asdict(self) | {
            "stall_share": self.stall_share,
            "samples_per_s": self.samples_per_s,
        }
