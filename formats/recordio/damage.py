"""Records of one read that turn out to be damaged, while the others are still given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.column import Column, FixedColumn, ObjectColumn, Valid, VarColumn
from forebay.formats.errors import ChecksumMismatch, MalformedShard, ShardError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.formats.recordio.gather import Offsets
    from forebay.formats.recordio.index import ShardIndex
    from forebay.formats.recordio.selection import Selection
    from forebay.formats.shard import ShardEntry

_REMEDY = "restore the file from its source or write the dataset again"


@dataclass(frozen=True, slots=True, eq=False)
class Damage:
    """What is wrong with which of the records `chosen` of a block.

    Args:
        errors: by place among the records chosen.
    """

    shard: ShardEntry
    block: int
    index: ShardIndex
    chosen: Selection
    errors: dict[int, ShardError] = field(default_factory=dict)

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

    def _add(self, kind: type[ShardError], i: int, what: str) -> None:
        number = self.chosen.number(i)
        self.errors[i] = kind(
            f"{what}; {_REMEDY}",
            shard=self.shard.file,
            block=self.block,
            record=number,
            offset=int(self.index.offset[number]),
        )


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
