"""The device stage for the CPU: batches stay where they were built."""

from __future__ import annotations

from typing import Any

from forebay.dataloader.device.pool import SlotPool, typed
from forebay.dataloader.flow.slot import Slot, SlotSpec


class CpuDevice:
    """Builds slots in ordinary RAM. See `flow.stage.Device`.

    Args:
        pool: of the loader, which keeps its memory from one run to the next.
    """

    def __init__(self, pool: SlotPool) -> None:
        self._pool = pool

    def open(self) -> None:
        pass

    def allocate(self, spec: SlotSpec, n: int) -> Slot:
        arrays = {
            f.name: typed(self._pool.take(f.nbytes(n)), (n, *f.shape), f.dtype) for f in spec.dense
        }
        lists = {name: [None] * n for name in spec.lists}
        samples = [None] * n if spec.samples else None
        expected = n * spec.list_bytes
        return Slot(n, arrays, lists, self._pool.take, samples=samples, expected=expected)

    def trim(self, nbytes: int) -> int:
        return self._pool.trim(nbytes)

    def run(self, sealed: list[Any], slot: Slot) -> list[Any]:
        return sealed

    def close(self) -> None:
        pass
