"""The batch stage where user code makes the samples: it collates them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from forebay.dataloader.batch.collate import Unlike, collate
from forebay.dataloader.batch.samples import sample_bytes
from forebay.dataloader.batch.stage import BatchStage, Sealed
from forebay.dataloader.flow.fault import Fault, UnlikeSamples, fault_at
from forebay.dataloader.flow.learned import Learned
from forebay.dataloader.flow.slot import Slot, SlotSpec
from forebay.dataloader.flow.ticket import Part, Ticket


class CollatingStage:
    """Makes batches of the samples that user code made. See `flow.stage.Batch`.

    A batch that no sample is left of is an empty list: what its samples would have been, nothing
    tells.

    Args:
        fields: declares what the samples are made of.
        learned: how large user code makes them.
    """

    def __init__(self, fields: BatchStage, learned: Learned) -> None:
        self._fields, self._learned = fields, learned

    def open(self) -> None:
        pass

    def declare(self) -> SlotSpec:
        spec = self._fields.declare()
        # Twice: as samples, and as the batch that these become.
        made = 2 * self._learned.bytes_a_sample
        return replace(spec, list_bytes=spec.list_bytes + made, samples=True)

    def run(self, ticket: Ticket, count: int, slot: Slot) -> list[Sealed]:
        about = self._fields.about(ticket, slot)
        sealed: list[Sealed] = []
        for number, part in enumerate(ticket.parts[:count]):
            batch = self._batch(ticket, part, slot, sealed)
            sealed.append(Sealed(batch, part.stop - part.first, number, about))
        slot.batch_bytes = sum(sample_bytes(one.batch) for one in sealed)
        return sealed

    def close(self) -> None:
        pass

    def _batch(self, ticket: Ticket, part: Part, slot: Slot, before: list[Sealed]) -> Any:
        assert slot.samples is not None, "declared"
        samples = slot.samples[part.first : part.stop]
        if not samples:
            return []
        try:
            return collate(samples)
        except Unlike as e:
            raise UnlikeSamples(_fault(ticket, part, e), list(before)) from None


def _fault(ticket: Ticket, part: Part, unlike: Unlike) -> Fault:
    what = f"what map returned does not collate: {unlike.got}"
    if unlike.first is not None:
        what += f", but {unlike.first} in the sample at position {ticket.positions[part.first]}"
    return fault_at(ticket, part.first + unlike.index, "collate", TypeError(what))
