"""The fetch stage: blocks and rows of a shard dataset become resident, checked and decompressed."""

from __future__ import annotations

from forebay.dataloader.fetch.scattered import read_scattered, scattered_cost
from forebay.dataloader.flow.ticket import LoadKey, Scattered
from forebay.formats.column import Block
from forebay.formats.errors import ShardError
from forebay.formats.shard import ReadTally
from forebay.formats.streamed import Streamed
from forebay.telemetry.meter import Board


class FetchStage:
    """Reads blocks of a dataset that forebay opened. See `flow.stage.Fetch`."""

    damage = (ShardError,)

    def __init__(self, dataset: Streamed, board: Board) -> None:
        self._dataset = dataset
        self._board = board

    def open(self) -> None:
        pass

    def cost(self, key: LoadKey, rows: Scattered | None) -> tuple[int, int]:
        if rows is None:
            return self._dataset.cost(key.block)
        return scattered_cost(self._dataset, rows)

    def run(self, key: LoadKey, rows: Scattered | None) -> tuple[Block, int]:
        tally = ReadTally()
        try:
            if rows is None:
                block = self._dataset.read(key.block, None, tally)
            else:
                block = read_scattered(self._dataset, rows, tally)
        finally:
            read, check, unpack = (self._board[n] for n in ("read", "check", "decompress"))
            read.add(calls=tally.requests, nbytes=tally.bytes, work_s=tally.read_s)
            check.add(calls=1, nbytes=tally.bytes, work_s=tally.check_s)
            unpack.add(calls=1, work_s=tally.decompress_s)
        unpack.add(nbytes=block.nbytes, items=block.rows)
        self._board["unchecked"].add(items=block.unchecked)
        return block, block.nbytes

    def close(self) -> None:
        pass
