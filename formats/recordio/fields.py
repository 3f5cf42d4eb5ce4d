"""The fields layout: nulls, fixed fields, lengths, values (SPEC.md, 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.column import Block, Column, FixedColumn, Valid, VarColumn
from forebay.formats.errors import SchemaError
from forebay.formats.recordio.gather import Bytes, Offsets, strided, take_fixed
from forebay.formats.recordio.layout import (
    Records,
    Spans,
    Take,
    fixed_column,
    ragged_column,
    refuse,
    var_column,
)
from forebay.kernels.align import aligned_empty
from forebay.kernels.runs import split_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.record import Field, Schema

# From this width on a row is worth a copy of its own, so that rows may lie apart.
_WIDE = 1024
_U32 = np.dtype("<u4")
_U8 = np.dtype(np.uint8)


class FieldsLayout:
    """Records of any schema.

    Raises:
        SchemaError: a field has a kind that no layout writes.
    """

    def __init__(self, schema: Schema) -> None:
        for f in schema:
            if f.kind == "other":
                raise SchemaError(
                    f"field {f.name!r} is of a foreign kind that RecordIO cannot hold; "
                    "leave it out, or convert it to a kind of the schema"
                )
        self.schema = schema
        self._nullable = [f for f in schema if f.nullable]
        self._fixed = [f for f in schema if f.kind == "fixed"]
        self._var = [f for f in schema if f.kind != "fixed"]
        self._nulls = (len(self._nullable) + 7) // 8
        self._at: dict[str, int] = {}
        at = self._nulls
        for f in self._fixed:
            self._at[f.name] = at
            at += f.width
        self._lengths_at = at
        self._prefix = at + 4 * len(self._var)

    def assemble(self, block: Block, first: int) -> Records:
        """As `Layout.assemble`."""
        rows = block.rows
        prefix = np.zeros((rows, self._prefix), np.uint8)
        for f in self._fixed:
            column = fixed_column(block, f)
            if not f.width:
                continue
            raw = np.ascontiguousarray(column.values).reshape(rows, -1).view(np.uint8)
            if column.valid is not None:
                raw = np.where(column.valid[:, None], raw, 0)
            prefix[:, self._at[f.name] : self._at[f.name] + f.width] = raw
        values = tuple(var_column(block, f) for f in self._var)
        lengths = prefix[:, self._lengths_at :].view(_U32) if values and rows else None
        for i, column_bytes in enumerate(values):
            if lengths is not None:
                # The caller refuses a record that is too long; here its length only has to fit.
                lengths[:, i] = np.minimum(column_bytes.lengths, 0xFFFF_FFFF)
        for bit, f in enumerate(self._nullable):
            valid = block.columns[f.name].valid
            if valid is not None:
                prefix[:, bit // 8] |= (~valid).astype(np.uint8) << (bit % 8)
        return Records(prefix, values)

    def parse(
        self, records: Spans, columns: Schema, take: Take = aligned_empty
    ) -> dict[str, Column]:
        """As `Layout.parse`."""
        data, starts = records.data, records.starts
        value_starts, value_lengths = self._values(records)
        out: dict[str, Column] = {}
        for f in columns:
            valid = self._valid(f, data, starts)
            if f.kind == "fixed":
                values = _fixed(f, data, starts + self._at[f.name], take)
                out[f.name] = FixedColumn(values, valid)
                continue
            i = self._var.index(f)
            spans = Spans(data, value_starts[i], value_lengths[i])
            if f.kind == "ragged":
                out[f.name] = ragged_column(f, spans, valid, take)
            else:
                out[f.name] = VarColumn(data, spans.starts, spans.lengths, valid)
        return out

    def _values(self, records: Spans) -> tuple[list[Offsets], list[Offsets]]:
        """Where each variable field's values lie, once every record is known to be whole."""
        data, starts, lengths = records.data, records.starts, records.lengths
        found = split_records(data, starts, lengths, self._prefix, len(self._var))
        if found is not None:
            return list(found[:, 0]), list(found[:, 1])
        # Some record is wrong: which ones, and how.
        refuse(
            lengths < self._prefix,
            lambda row: (
                f"the record has {lengths[row]} bytes, fewer than the {self._prefix} "
                "with which every record of this schema begins"
            ),
        )
        count = len(self._var)
        raw = take_fixed(data, starts + self._lengths_at, 4 * count, _U32)
        sizes = [raw[:, i].astype(np.int64) for i in range(count)]
        total = sum(sizes, np.full_like(lengths, self._prefix))
        refuse(
            total != lengths,
            lambda row: (
                f"the record has {lengths[row]} bytes where its fields add up to {total[row]}"
            ),
        )
        at = starts + self._prefix
        value_starts = []
        for size in sizes:
            value_starts.append(at)
            at = at + size
        return value_starts, sizes

    def _valid(self, field: Field, data: Bytes, starts: Offsets) -> Valid:
        if not field.nullable:
            return None
        bit = self._nullable.index(field)
        nulls = take_fixed(data, starts + bit // 8, 1, _U8)[:, 0]
        valid: Valid = (nulls >> (bit % 8)) & 1 == 0
        return None if valid is None or valid.all() else valid


def _fixed(field: Field, data: Bytes, starts: Offsets, take: Take) -> NDArray[Any]:
    raw = strided(data, starts, field.width, field.element) if field.width >= _WIDE else None
    if raw is None:
        raw = take_fixed(data, starts, field.width, field.element, take)
    # Splitting the last axis never copies, since each row is contiguous.
    return raw.reshape(len(starts), *field.shape)
