"""The rows of a dataset that a filter keeps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from forebay.formats.errors import MalformedShard
from forebay.formats.filter.evaluate import NotText, true_rows

if TYPE_CHECKING:
    from forebay.formats.block_table import BlockTable
    from forebay.formats.column import Block
    from forebay.formats.filter.expression import Expression
    from forebay.formats.record import Schema
    from forebay.formats.shard import ShardEntry


@dataclass(frozen=True, slots=True)
class Kept:
    """What a view of a dataset keeps; small enough to travel to other processes.

    Args:
        text: of the filter.
        bits: (rows + 7 // 8,) uint8, a bit for each stored row, as `numpy.packbits` lays them.
        rows: that are stored.
    """

    text: str
    bits: NDArray[np.uint8]
    rows: int

    @staticmethod
    def of(text: str, kept: NDArray[np.bool_]) -> Kept:
        """Args: kept: (rows,) bool."""
        return Kept(text, np.packbits(kept), len(kept))

    def mask(self) -> NDArray[np.bool_]:
        """(rows,) whether each stored row is kept; the caller's."""
        return np.unpackbits(self.bits, count=self.rows).view(np.bool_)


class Stored(Protocol):
    """Datasets, as far as a filter needs one: the fields that it reads, of all stored rows."""

    schema: Schema
    blocks: BlockTable

    def read(self, block: int) -> Block: ...

    def shard_of(self, block: int) -> tuple[ShardEntry, int]: ...


def kept_rows(
    expression: Expression, dataset: Stored, asked: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(rows,) the rows among those asked for that the filter keeps.

    Blocks are read one after the other; one without a row that is asked for is not.

    Args:
        asked: (rows,) bool.

    Raises:
        ShardError: a row that is asked for is damaged: whether it is to be kept, nobody can know.
        FilterError: whole numbers became too large on the way.
    """
    kept = asked.copy()
    bounds = dataset.blocks.first_row.tolist()
    for block, (first, stop) in enumerate(itertools.pairwise(bounds)):
        here = kept[first:stop]
        if not here.any():
            continue
        data = dataset.read(block)
        for row, error in data.damaged.items():
            if here[row]:
                raise error
        try:
            here &= true_rows(expression, dataset.schema, data)
        except NotText as e:
            shard, inside = dataset.shard_of(block)
            record = int(np.sum(shard.block_rows[:inside])) + e.row
            raise MalformedShard(
                f"field {e.field!r} is no UTF-8: the writer's fault; leave the record out",
                shard=shard.file,
                block=inside,
                record=record,
            ) from None
    return kept
