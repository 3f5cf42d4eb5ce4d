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
    """

    place: int
    position: int
    block: int
    row: int
    stage: Literal["fetch", "decode"]
    cause: Exception


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
