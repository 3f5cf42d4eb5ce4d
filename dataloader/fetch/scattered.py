"""Rows from anywhere in a dataset, of which a damaged shard spoils no other's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ticket import Scattered
from forebay.formats.column import Block
from forebay.formats.errors import ShardError
from forebay.formats.shard import ReadTally
from forebay.formats.streamed import Streamed

T = TypeVar("T")
Int = NDArray[np.int64]


def scattered_cost(dataset: Streamed, wanted: Scattered) -> tuple[int, int]:
    """(bytes at rest, bytes in memory afterwards) of `read_scattered`, at most.

    Raises:
        ShardError: every shard that the rows are of is damaged as a whole.
    """
    cost, _ = _of_sound_shards(dataset, wanted, dataset.rows_cost)
    return cost


def read_scattered(dataset: Streamed, wanted: Scattered, tally: ReadTally) -> Block:
    """The rows in their order, as one block; rows of damaged shards are in its `damaged`.

    Raises:
        ShardError: every shard that the rows are of is damaged as a whole.
        StorageError: the store failed.
    """
    block, lost = _of_sound_shards(dataset, wanted, lambda rows: dataset.read_rows(rows, tally))
    return replace(block, damaged={**block.damaged, **lost}) if lost else block


def _of_sound_shards(
    dataset: Streamed, wanted: Scattered, ask: Callable[[Int], T]
) -> tuple[T, dict[int, ShardError]]:
    """What is asked about the rows; where a shard is damaged as a whole, about others in the place
    of its rows, which come with why."""
    rows = dataset.blocks.stored(wanted.blocks, wanted.rows)
    try:
        return ask(rows), {}
    except ShardError as e:
        first = e
    lost: dict[int, ShardError] = {}
    shards = dataset.blocks.shard[wanted.blocks]
    for shard in np.unique(shards):
        places = np.flatnonzero(shards == shard)
        try:
            ask(rows[places])
        except ShardError as e:
            lost |= dict.fromkeys(places.tolist(), e)
    sound = [i for i in range(len(rows)) if i not in lost]
    if not sound:
        raise first
    rows[sorted(lost)] = rows[sound[0]]
    return ask(rows), dict(sorted(lost.items()))
