"""Arrow's fields as ours, and its tables as blocks of columns, where they can be packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from forebay.formats.column import Block
from forebay.formats.errors import SourceError
from forebay.formats.parquet.columns import UnfitValuesError, column_of
from forebay.formats.parquet.schema import schema_of

if TYPE_CHECKING:
    from forebay.formats.record import Field, Schema


def field_of(arrow: pa.Field, where: str) -> Field:
    """Our field of an Arrow field; raises as `packable`."""
    return packable(pa.schema([arrow]), where)[arrow.name]


def packable(arrow: pa.Schema, where: str) -> Schema:
    """Our schema of an Arrow schema, every field of which can be written.

    Raises:
        SourceError: a column has a type that has no kind here, or a name that cannot be used.
    """
    schema = schema_of(arrow)
    check_packable(schema, {f.name: str(f.type) for f in arrow}, where)
    return schema


def check_packable(schema: Schema, types: dict[str, str], where: str) -> None:
    """Raises SourceError where a field cannot be written.

    Args:
        schema: of the input.
        types: what the input calls the types of its columns, for messages.
        where: the input's name, for messages.
    """
    for field in schema:
        if field.kind == "other":
            raise SourceError(
                f"column {field.name!r} of {where} has type {types.get(field.name, 'unknown')}, "
                "which cannot be packed: cast it to a number, to text or to a list of numbers, "
                "or leave it out"
            )
        if not field.name or "." in field.name or "\0" in field.name:
            raise SourceError(
                f"column {field.name!r} of {where} has a name that cannot be used: "
                "rename it to one without '.' or NUL, and not empty"
            )


def block_of_table(schema: Schema, table: pa.Table, where: str) -> Block:
    """The rows of a table as columns that view its buffers where their types allow.

    Raises:
        SourceError: a list of integers has a null inside.
    """
    try:
        columns = {f.name: column_of(f, table.column(f.name)) for f in schema}
    except UnfitValuesError as e:
        raise SourceError(f"{where}: {e}; fill the nulls, or leave the column out") from e
    return Block(table.num_rows, columns, int(table.nbytes))
