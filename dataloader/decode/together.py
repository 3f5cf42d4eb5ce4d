"""Scalar fields of one width, which are gathered in one walk over a ticket's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.columns import gather, gather_nulls, is_dense
from forebay.dataloader.decode.selection import Bad, Selection
from forebay.formats.column import Block, FixedColumn
from forebay.formats.record import Field
from forebay.kernels.columns import column_table, gather_columns

Table = NDArray[np.uint64]


def by_width(fields: Sequence[Field]) -> tuple[list[Together], list[Field]]:
    """Scalar fields that others have the width of, and all the rest."""
    widths: dict[int, list[Field]] = {}
    for field in fields:
        if is_dense(field) and not field.shape:
            widths.setdefault(field.element.itemsize, []).append(field)
    groups = [several for several in widths.values() if len(several) > 1]
    taken = {field.name for several in groups for field in several}
    return [Together(several) for several in groups], [f for f in fields if f.name not in taken]


class Together:
    """Some scalar fields of one width. Safe in several threads at once."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        # A block serves many tickets, and where its columns lie does not change.
        self._tables: WeakKeyDictionary[Block, Table | None] = WeakKeyDictionary()

    def gather(self, chosen: Selection, arrays: Mapping[str, NDArray[Any]]) -> Bad:
        """Copies the fields' values to their arrays. Floating-point nulls become NaN.

        Returns the places that have a null without a NaN to become.
        """
        if not len(chosen):
            return {}
        outs = [arrays[field.name] for field in self.fields]
        bad: Bad = {}
        tables = [table for block in chosen.blocks if (table := self._table(block)) is not None]
        if len(tables) < len(chosen.blocks):
            for field, out in zip(self.fields, outs, strict=True):
                bad |= gather(field, chosen, out)
            return bad
        gather_columns(tables, chosen.which, chosen.rows, chosen.places, outs)
        for field, out in zip(self.fields, outs, strict=True):
            bad |= gather_nulls(field, chosen, out)
        return bad

    def _table(self, block: Block) -> Table | None:
        if block in self._tables:
            return self._tables[block]
        columns = [block.columns[field.name] for field in self.fields]
        values = [
            column.values
            for column, field in zip(columns, self.fields, strict=True)
            if isinstance(column, FixedColumn) and column.values.dtype == field.element
        ]
        table = column_table(values) if len(values) == len(columns) else None
        self._tables[block] = table
        return table
