"""Faults: samples that cannot be delivered, as values that travel with their batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from forebay.dataloader.flow.ticket import Ticket


@dataclass(frozen=True, slots=True)
class Fault:
    """One sample that cannot be delivered.

    Args:
        place: its place in the batch.
        position: its place in the epoch's global order.
        block: the block of its record.
        row: the record's row in the block.
        stage: where the damage was found.
        cause: the damage.
        replacement: (block, row) of the record that is delivered at its position instead; None: the
            sample is left out.
    """

    place: int
    position: int
    block: int
    row: int
    stage: Literal["fetch", "decode"]
    cause: Exception
    replacement: tuple[int, int] | None = None


def fault_at(
    ticket: Ticket, place: int, stage: Literal["fetch", "decode"], cause: Exception
) -> Fault:
    """The fault of the sample at a place of a ticket."""
    return Fault(
        place=place,
        position=int(ticket.positions[place]),
        block=int(ticket.blocks[place]),
        row=int(ticket.rows[place]),
        stage=stage,
        cause=cause,
    )
