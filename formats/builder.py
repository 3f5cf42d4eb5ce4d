"""From records to blocks of about a given size, the same whichever way the records come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.block_check import check_block
from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.errors import SchemaError
from forebay.formats.splice import block_of, cut, join, own, row_bytes
from forebay.formats.value import encoder_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from forebay.formats.record import Field, Schema

BLOCK_BYTES = 1 << 20


class BlockBuilder:
    """Collects records and gives a block whenever their values reach `block_bytes`.

    A block ends with the record that reaches the size, so where blocks end depends on the records
    alone. Not safe to call from several threads.

    Args:
        schema: of the records.
        block_bytes: bytes of values, uncompressed, at which a block is complete; at least 1.
    """

    def __init__(self, schema: Schema, block_bytes: int = BLOCK_BYTES) -> None:
        if block_bytes < 1:
            raise ValueError(f"block_bytes must be at least 1, got {block_bytes}")
        self.schema = schema
        self.block_bytes = block_bytes
        self.records = 0
        """Records taken so far, those of blocks given out included."""
        self._encoders = [(f, encoder_of(f), f.width, f.element.itemsize) for f in schema]
        self._clear_rows()
        self._pieces: list[Block] = []
        self._pending = 0

    def add(self, record: Mapping[str, Any]) -> Block | None:
        """Takes one record; gives the block that it completes, if it does.

        An image may be given as its bytes or as a tuple (bytes, path), where path is a str or
        None. A field that is missing counts as None, which only nullable fields take.

        Raises:
            SchemaError: a value does not fit its field; says which field of which record. The
                builder is as it was before.
        """
        values, paths, size = self._encoded(record)
        for name, value in zip(self._rows, values, strict=True):
            self._rows[name].append(value)
        for name, path in paths.items():
            column = self._paths.setdefault(name, {})
            column[self._count] = path
        self._count += 1
        self.records += 1
        self._pending += size
        return self.flush() if self._pending >= self.block_bytes else None

    def add_columns(self, block: Block) -> list[Block]:
        """Takes many records at once; gives the blocks that they complete.

        The blocks given out may view `block`'s buffers; rows that are kept back are copied.

        Raises:
            SchemaError: a column is missing, or its dtype, shape, nulls or ranges do not fit.
        """
        check_block(self.schema, block, self.records)
        self._seal_rows()
        sizes = row_bytes(block)
        stops = np.cumsum(sizes)
        full: list[Block] = []
        start = 0
        while start < block.rows:
            done = int(stops[start - 1]) if start else 0
            need = done + self.block_bytes - self._pending
            stop = int(np.searchsorted(stops, need, side="left")) + 1
            complete = stop <= block.rows
            stop = min(stop, block.rows)
            piece = cut(block, start, stop)
            self._pieces.append(piece if complete else own(piece))
            self._pending += int(stops[stop - 1]) - done
            self.records += stop - start
            start = stop
            if complete:
                whole = self.flush()
                full += [whole] if whole else []
        return full

    def flush(self) -> Block | None:
        """The block of all records not yet given out; None when there are none."""
        self._seal_rows()
        if not self._pieces:
            return None
        block = join(self._pieces)
        self._pieces = []
        self._pending = 0
        return block

    def _encoded(self, record: Mapping[str, Any]) -> tuple[list[Any], dict[str, bytes], int]:
        values: list[Any] = []
        paths: dict[str, bytes] = {}
        size = 0
        known = 0
        for field, encode, width, itemsize in self._encoders:
            value = record.get(field.name)
            known += field.name in record
            try:
                if field.kind == "image" and isinstance(value, tuple):
                    value, path = _image_and_path(value)
                    if path is not None:
                        paths[field.name] = path
                        size += len(path)
                if value is None and not field.nullable:
                    state = "None" if field.name in record else "no value"
                    raise SchemaError(f"got {state}; write {field.spec + '?'!r} to allow nulls")
                encoded = None if value is None else encode(value)
            except SchemaError as e:
                raise SchemaError(f"record {self.records}, field {field.name!r}: {e}") from e
            values.append(encoded)
            size += width if field.kind == "fixed" or encoded is None else len(encoded) * itemsize
        if known != len(record):
            extra = ", ".join(repr(k) for k in record if k not in self.schema)
            raise SchemaError(
                f"record {self.records} has {extra}, not among the fields "
                f"{', '.join(self.schema.names)}"
            )
        return values, paths, size

    def _seal_rows(self) -> None:
        if self._count:
            columns = {f.name: _column(f, self._rows[f.name]) for f in self.schema}
            for name, given in self._paths.items():
                rows = [given.get(i) for i in range(self._count)]
                columns[f"{name}.path"] = _var_column(np.dtype(np.uint8), rows)
            self._pieces.append(block_of(columns, self._count))
        self._clear_rows()

    def _clear_rows(self) -> None:
        self._count = 0
        self._rows: dict[str, list[Any]] = {f.name: [] for f in self.schema}
        self._paths: dict[str, dict[int, bytes]] = {}


def _image_and_path(value: tuple[Any, ...]) -> tuple[Any, bytes | None]:
    if len(value) != 2 or not isinstance(value[1], str | None):
        raise SchemaError(f"expected bytes or (bytes, path), got a tuple of {len(value)}")
    try:
        return value[0], None if value[1] is None else value[1].encode("utf-8")
    except UnicodeEncodeError as e:
        raise SchemaError(f"path cannot be written as UTF-8: {e}") from e


def _column(field: Field, rows: Sequence[Any]) -> Column:
    if field.kind != "fixed":
        return _var_column(field.element, rows)
    valid = None
    if field.nullable and any(r is None for r in rows):
        valid = np.array([r is not None for r in rows], np.bool_)
    values = np.zeros((len(rows), *field.shape), field.element)
    if valid is None and not field.shape:
        values[:] = rows
    else:
        for i, row in enumerate(rows):
            if row is not None:
                values[i] = row
    return FixedColumn(values, valid)


def _var_column(dtype: np.dtype[Any], rows: Sequence[Any]) -> VarColumn:
    lengths = np.array([0 if r is None else len(r) for r in rows], np.int64)
    valid = None
    if any(r is None for r in rows):
        valid = np.array([r is not None for r in rows], np.bool_)
    present = [r for r in rows if r is not None]
    if present and isinstance(present[0], bytes):
        values: Any = np.frombuffer(b"".join(present), dtype)
    else:
        values = np.concatenate(present) if present else np.empty(0, dtype)
    return VarColumn(values, np.cumsum(lengths) - lengths, lengths, valid)
