"""What becomes of samples that cannot be delivered, where a loader goes on without them."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.fault import Fault
from forebay.dataloader.flow.slot import Slot
from forebay.dataloader.flow.stage import Decode, Fetch, Substitutes
from forebay.dataloader.flow.ticket import Cutting, LoadKey, Slice, Ticket, kinds
from forebay.dataloader.flow.without import without

OnError = Literal["raise", "skip", "replace"]


class Mender:
    """Makes tickets with faults whole again. Works in the thread that seals.

    Args:
        substitutes: gives rows that may stand in; None leaves samples out instead.
        lease: that pays for blocks while they are looked at. As an image in a decoder's hands they
            are charged but cannot wait.
        most: faults that are allowed in a pass.
    """

    def __init__(
        self,
        fetch: Fetch,
        decode: Decode,
        cutting: Cutting,
        lease: Budget,
        substitutes: Substitutes | None,
        most: int,
    ) -> None:
        self._fetch, self._decode = fetch, decode
        self._kinds = kinds(cutting)
        self._lease = lease
        self._substitutes = substitutes
        self._most = most

    def mend(self, ticket: Ticket, slot: Slot, faults: Mapping[int, Fault]) -> Ticket:
        """The ticket of what can be delivered, in the same slot: other rows stand in for faulty
        ones, or the places behind them move up. Its parts say what happened."""
        told: dict[int, Fault] = {}
        for part in ticket.parts:
            faulty = [p for p in sorted(faults) if part.first <= p < part.stop]
            # More than are allowed end the run at this batch, whatever is in it: where all code of
            # the user's fails, nothing would be found to stand in, and looking takes long.
            hopeless = len(faulty) > self._most
            for place in faulty:
                fault = faults[place]
                told[place] = fault if hopeless else self._mended(ticket, slot, fault)
        for fault in told.values():
            # The variables of user code's frames hold the sample, and with it the slot's memory.
            traceback.clear_frames(fault.cause.__traceback__)
        return without(ticket, slot, told)

    def _mended(self, ticket: Ticket, slot: Slot, fault: Fault) -> Fault:
        if self._substitutes is None:
            return fault
        for block in self._substitutes.blocks(fault.block):
            row = self._first_good(ticket, slot, fault, block)
            if row is not None:
                return replace(fault, replacement=(block, row))
        return fault

    def _first_good(self, ticket: Ticket, slot: Slot, fault: Fault, block: int) -> int | None:
        """The first row of the block that stands in, written to its place; None: there is none."""
        assert self._substitutes is not None, "asked for by whoever has them"
        key = LoadKey(block)
        try:
            stored, memory = self._fetch.cost(key, None)
        except self._fetch.damage:
            return None
        self._lease.charge("fetch", stored)
        self._lease.charge("blocks", memory)
        try:
            loaded, _ = self._fetch.run(key, None)
            for row in self._substitutes.rows(ticket.epoch, fault.position, block):
                if (block, row) == (fault.block, fault.row):
                    continue
                if self._written(ticket, slot, fault.place, key, loaded, row):
                    return row
        except self._fetch.damage:
            return None
        finally:
            self._lease.release("fetch", stored)
            self._lease.release("blocks", memory)
        return None

    def _written(
        self, ticket: Ticket, slot: Slot, place: int, key: LoadKey, loaded: Any, row: int
    ) -> bool:
        """Whether the row's sample is good; then it stands at the place."""
        for gathers in self._kinds:
            piece = Slice(
                ticket,
                places=np.array([place], np.int64),
                rows=np.array([row], np.int64),
                keys=(key,),
                bounds=np.array([0, 1], np.int64),
                wanted=(None,),
                gathers=gathers,
            )
            if self._decode.run(piece, {key: loaded}, slot):
                return False
        if place in slot.left_out:
            # A record that the filter refuses is none to stand in.
            slot.left_out.discard(place)
            return False
        return True
