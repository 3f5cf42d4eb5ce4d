"""Which record layout a schema takes, and the memory that its columns need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.formats.column import Block, Column, VarColumn
from forebay.formats.errors import SchemaError
from forebay.formats.recordio.fields import FieldsLayout
from forebay.formats.recordio.irheader import ImageLayout
from forebay.kernels.align import aligned_empty

if TYPE_CHECKING:
    from forebay.formats.record import Schema
    from forebay.formats.recordio.layout import Layout, Records, Spans, Take

LABEL_DTYPES = frozenset(
    [
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        "float16",
        "float32",
    ]
)
RECORD_FIELD = "record"

# Offsets, lengths, checks and row numbers of a record while its block is read.
_ROW_BYTES = 96


class RawLayout:
    """Foreign records of which nothing is known: the whole record is field `record`."""

    def assemble(self, block: Block, first: int) -> Records:
        """Refuses: such records are only read."""
        raise SchemaError("records without a layout are only read, never written")

    def parse(
        self, records: Spans, columns: Schema, take: Take = aligned_empty
    ) -> dict[str, Column]:
        """As `Layout.parse`."""
        return {f.name: VarColumn(records.data, records.starts, records.lengths) for f in columns}


def layout_of(schema: Schema) -> Layout:
    """The layout in which a dataset of this schema is written.

    Raises:
        SchemaError: a field has a kind that no layout writes.
    """
    if len(schema) == 2 and not any(f.nullable for f in schema):
        images = [f for f in schema if f.kind == "image"]
        labels = [f for f in schema if f.kind == "fixed" and f.shape == ()]
        if len(images) == 1 and len(labels) == 1 and labels[0].dtype in LABEL_DTYPES:
            return ImageLayout(schema)
    return FieldsLayout(schema)


def foreign_layout_of(schema: Schema) -> Layout:
    """The layout of a foreign shard, from the schema that scanning it gave."""
    return RawLayout() if schema.names == (RECORD_FIELD,) else ImageLayout(schema)


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of some records, in bytes: framed, decompressed, and the largest decompressed."""

    rows: int
    framed: int
    raw: int
    largest: int


def memory_of(extent: Extent, columns: Schema, compressed: bool) -> int:
    """Bytes that a block of these records may take once it is read.

    Records at rest uncompressed stay in the buffer they were read into; others are decompressed
    one after the other, each through one copy of it.
    """
    held = extent.raw + extent.largest if compressed else extent.framed
    per_row = _ROW_BYTES + sum(f.width if f.kind == "fixed" else 16 for f in columns)
    per_row += sum(f.nullable for f in columns) + 4 * len(columns)
    ragged = extent.raw if any(f.kind == "ragged" for f in columns) else 0
    return held + ragged + per_row * extent.rows
