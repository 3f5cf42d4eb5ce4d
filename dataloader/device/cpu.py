"""The device stage for the CPU: batches stay where they were built."""

from __future__ import annotations

from typing import Any

from forebay.dataloader.device.pool import SlotPool, typed
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.slot import Slot, SlotSpec


class CpuDevice:
    """Owns the memory of slots in ordinary RAM. See `flow.stage.Device`."""

    def __init__(self, budget: Budget) -> None:
        self._pool = SlotPool(budget)

    def open(self) -> None:
        pass

    def allocate(self, spec: SlotSpec, n: int) -> Slot:
        arrays = {
            f.name: typed(self._pool.take(f.nbytes(n)), (n, *f.shape), f.dtype) for f in spec.dense
        }
        lists = {name: [None] * n for name in spec.lists}
        return Slot(n, arrays, lists, self._pool.take, expected=n * spec.list_bytes)

    def trim(self, nbytes: int) -> int:
        return self._pool.trim(nbytes)

    def run(self, sealed: Any, slot: Slot) -> Any:
        return sealed

    def close(self) -> None:
        self._pool.close()
