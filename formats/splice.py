"""Cutting blocks of columns apart and joining them, without a Python loop over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.column import Block, Column, FixedColumn, ObjectColumn, VarColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def row_bytes(block: Block) -> NDArray[np.int64]:
    """(rows,) bytes of the values of each row, nulls and framing not counted."""
    total = np.zeros(block.rows, np.int64)
    for column in block.columns.values():
        if isinstance(column, VarColumn):
            total += column.lengths * column.values.itemsize
        elif isinstance(column, FixedColumn):
            total += column.values[:1].nbytes
        else:
            total += 64
    return total


def cut(block: Block, start: int, stop: int) -> Block:
    """Rows start to stop; the columns view the block's buffers."""
    columns = {name: _cut_column(c, start, stop) for name, c in block.columns.items()}
    return block_of(columns, stop - start)


def own(block: Block) -> Block:
    """The same rows in memory of their own, nothing else kept alive."""
    columns = {name: _join_columns([c]) for name, c in block.columns.items()}
    return block_of(columns, block.rows)


def join(blocks: Sequence[Block]) -> Block:
    """The rows of all blocks, in order; a copy unless there is one block alone.

    A column that only some of the blocks have is null in the others.
    """
    if len(blocks) == 1:
        return blocks[0]
    names: dict[str, Column] = {}
    for block in blocks:
        for name, column in block.columns.items():
            names.setdefault(name, column)
    columns = {
        name: _join_columns([b.columns.get(name) or _nulls(like, b.rows) for b in blocks])
        for name, like in names.items()
    }
    return block_of(columns, sum(b.rows for b in blocks))


def compact(column: VarColumn) -> NDArray[Any]:
    """(elements,) the column's values end to end, nothing between; a view where they lie so."""
    lengths = column.lengths
    stops = np.cumsum(lengths)
    if not len(lengths):
        return column.values[:0]
    packed = stops - lengths
    first = int(column.starts[0])
    used = lengths > 0
    if np.array_equal(column.starts[used] - first, packed[used]):
        return column.values[first : first + int(stops[-1])]
    if int(stops[-1]) == 0:
        return column.values[:0]
    if stops[-1] >= 256 * len(lengths):
        # Long values: one copy each is cheaper than an index for every element.
        return np.concatenate([column.view(i) for i in range(len(lengths))])
    index = np.repeat(column.starts - packed, lengths) + np.arange(stops[-1])
    return np.take(column.values, index)


def block_of(columns: dict[str, Column], rows: int) -> Block:
    """A block of these columns; its `nbytes` counts the bytes that the rows use."""
    nbytes = 0
    for column in columns.values():
        if isinstance(column, VarColumn):
            nbytes += int(column.lengths.sum()) * column.values.itemsize + 16 * len(column)
        else:
            nbytes += column.nbytes
        nbytes += 0 if column.valid is None else len(column)
    return Block(rows, columns, nbytes)


def _cut_column(column: Column, start: int, stop: int) -> Column:
    valid = None if column.valid is None else column.valid[start:stop]
    if isinstance(column, VarColumn):
        return VarColumn(
            column.values, column.starts[start:stop], column.lengths[start:stop], valid
        )
    if isinstance(column, FixedColumn):
        return FixedColumn(column.values[start:stop], valid)
    return ObjectColumn(column.values[start:stop], valid)


def _join_columns(columns: Sequence[Column]) -> Column:
    valid = None
    if any(c.valid is not None for c in columns):
        valid = np.concatenate(
            [np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in columns]
        )
    variable = [c for c in columns if isinstance(c, VarColumn)]
    fixed = [c for c in columns if isinstance(c, FixedColumn)]
    if len(variable) == len(columns):
        lengths = np.concatenate([c.lengths for c in variable])
        values = np.concatenate([compact(c) for c in variable])
        return VarColumn(values, np.cumsum(lengths) - lengths, lengths, valid)
    if len(fixed) == len(columns):
        return FixedColumn(np.concatenate([c.values for c in fixed]), valid)
    return ObjectColumn([v for c in columns for v in _objects(c)], valid)


def _objects(column: Column) -> Sequence[Any]:
    if not isinstance(column, ObjectColumn):
        raise TypeError(f"cannot join a {type(column).__name__} with columns of another kind")
    return column.values


def _nulls(like: Column, rows: int) -> Column:
    none = np.zeros(rows, np.bool_)
    if isinstance(like, VarColumn):
        zeros = np.zeros(rows, np.int64)
        return VarColumn(like.values[:0], zeros, zeros, none)
    if isinstance(like, FixedColumn):
        return FixedColumn(np.zeros((rows, *like.values.shape[1:]), like.values.dtype), none)
    return ObjectColumn([None] * rows, none)
