"""Faults: samples that cannot be delivered, as values that travel with their batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from forebay.dataloader.flow.ticket import Ticket

Stage = Literal["fetch", "decode", "filter", "map", "collate"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One sample that cannot be delivered.

    Args:
        place: its place in the batch.
        position: its place in the epoch's global order.
        block: the block of its record.
        row: the record's row in the block.
        stage: where the damage was found, or whose code refused the sample.
        cause: the damage, or what user code raised.
        replacement: (block, row) of the record that is delivered at its position instead; None: the
            sample is left out.
    """

    place: int
    position: int
    block: int
    row: int
    stage: Stage
    cause: Exception
    replacement: tuple[int, int] | None = None

    @property
    def told(self) -> str:
        """The cause in words. Of user code's exceptions many say little without their name."""
        if self.stage in ("filter", "map"):
            return f"{type(self.cause).__name__}: {self.cause}"
        return str(self.cause)


class UnlikeSamples(Exception):
    """Samples of one batch do not go together.

    Args:
        fault: of the first sample that differs.
        sealed: the batches before it.
    """

    def __init__(self, fault: Fault, sealed: list[Any]) -> None:
        super().__init__(fault.cause)
        self.fault, self.sealed = fault, sealed


def fault_at(ticket: Ticket, place: int, stage: Stage, cause: Exception) -> Fault:
    """The fault of the sample at a place of a ticket."""
    return Fault(
        place=place,
        position=int(ticket.positions[place]),
        block=int(ticket.blocks[place]),
        row=int(ticket.rows[place]),
        stage=stage,
        cause=cause,
    )
