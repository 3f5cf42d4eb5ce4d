"""Records of one read that turn out to be damaged, while the others are still given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.column import Column, FixedColumn, ObjectColumn, Valid, VarColumn
from forebay.formats.errors import ChecksumMismatch, MalformedShard, ShardError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forebay.formats.recordio.gather import Offsets
    from forebay.formats.recordio.index import ShardIndex
    from forebay.formats.recordio.selection import Selection
    from forebay.formats.shard import ShardEntry

_REMEDY = "restore the file from its source or write the dataset again"


@dataclass(frozen=True, slots=True, eq=False)
class Damage:
    """What is wrong with which of the records `chosen` of a block.

    Args:
        block: None where they are of several blocks of the shard.
        errors: by place among the records chosen.
    """

    shard: ShardEntry
    block: int | None
    index: ShardIndex
    chosen: Selection
    errors: dict[int, ShardError] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many records were read."""
        return self.chosen.count

    def good(self) -> Offsets:
        """(k,) the places of records with nothing wrong so far, ascending."""
        if not self.errors:
            return np.arange(self.chosen.count)
        good = np.ones(self.chosen.count, np.bool_)
        good[list(self.errors)] = False
        return np.flatnonzero(good)

    def add_checksum(self, i: int, found: int, expected: int) -> None:
        """Adds record i, whose CRC-32C is not the one expected."""
        what = f"CRC-32C of the framed record is {found:#010x} where the index has {expected:#010x}"
        self._add(ChecksumMismatch, i, what)

    def add_malformed(self, i: int, what: str) -> None:
        """Adds record i, whose bytes are not what the format allows."""
        self._add(MalformedShard, i, what)

    def whole(self, what: str) -> MalformedShard:
        """The error that says what is wrong with the block as a whole."""
        return MalformedShard(f"{what}; {_REMEDY}", shard=self.shard.file, block=self.block)

    def check_blocks(self) -> None:
        """Refuses an index that says more of a record than the shard table allows its block.

        Raises:
            MalformedShard: names the block.
        """
        first = self.chosen.first
        where = self.chosen.where
        numbers = np.arange(first, first + self.count) if isinstance(where, slice) else where
        blocks = np.searchsorted(np.cumsum(self.shard.block_rows), numbers, "right")
        over = (self.index.raw_length[numbers] > self.shard.block_memory[blocks]) | (
            self.index.length[numbers] > self.shard.block_bytes[blocks]
        )
        if over.any():
            i = int(np.argmax(over))
            raise MalformedShard(
                "its index says more bytes of a record than the shard table of its block; "
                + _REMEDY,
                shard=self.shard.file,
                block=int(blocks[i]),
                record=self.chosen.number(i),
            )

    def _block_of(self, number: int) -> int:
        if self.block is not None:
            return self.block
        return int(np.searchsorted(np.cumsum(self.shard.block_rows), number, "right"))

    def _add(self, kind: type[ShardError], i: int, what: str) -> None:
        number = self.chosen.number(i)
        self.errors[i] = kind(
            f"{what}; {_REMEDY}",
            shard=self.shard.file,
            block=self._block_of(number),
            record=number,
            offset=int(self.index.offset[number]),
        )


class Damages:
    """What is wrong with which records, read of several shards.

    Args:
        parts: for each shard the first of its places among all records, and its own damage.
    """

    def __init__(self, parts: Sequence[tuple[int, Damage]]) -> None:
        self._parts = parts
        self.count = sum(d.chosen.count for _, d in parts)

    @property
    def errors(self) -> dict[int, ShardError]:
        """By place among all records."""
        return {first + i: e for first, d in self._parts for i, e in d.errors.items()}

    def good(self) -> Offsets:
        """(k,) the places of records with nothing wrong so far, ascending."""
        none = [np.empty(0, np.int64)]
        return np.concatenate(none + [first + d.good() for first, d in self._parts])

    def add_malformed(self, i: int, what: str) -> None:
        """Adds record i, whose bytes are not what the format allows."""
        for first, damage in reversed(self._parts):
            if i >= first:
                damage.add_malformed(i - first, what)
                return


def spread(columns: Mapping[str, Column], at: Offsets, rows: int) -> dict[str, Column]:
    """Columns of `rows` rows: row i of these at place `at[i]`, elsewhere zeros of no length."""
    return {name: _spread(column, at, rows) for name, column in columns.items()}


def _spread(column: Column, at: Offsets, rows: int) -> Column:
    valid: Valid = None
    if column.valid is not None:
        valid = np.ones(rows, np.bool_)
        valid[at] = column.valid
    if isinstance(column, FixedColumn):
        values = np.zeros((rows, *column.values.shape[1:]), column.values.dtype)
        values[at] = column.values
        return FixedColumn(values, valid)
    if isinstance(column, ObjectColumn):
        raise TypeError("RecordIO has no columns of Python objects")
    starts, lengths = np.zeros((2, rows), np.int64)
    starts[at], lengths[at] = column.starts, column.lengths
    return VarColumn(column.values, starts, lengths, valid)
