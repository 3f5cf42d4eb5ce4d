"""Our schema and Arrow's: what a field of ours is in a Parquet file, and the way back."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.types as types

from forebay.formats.errors import NewerFormatError, SchemaError
from forebay.formats.parquet.hub import (
    HUB_KEY,
    hub_classes,
    hub_metadata,
    hub_types,
    is_class_label,
)
from forebay.formats.record import Field, Schema

VERSION = 1
OWN_KEY = b"forebay"


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema that a schema is written as, with our metadata and the Hub's.

    Raises:
        SchemaError: a field that Parquet files cannot hold.
    """
    own = {"version": VERSION, "fields": schema.to_json()}
    metadata = {
        OWN_KEY: json.dumps(own, separators=(",", ":"), ensure_ascii=False).encode(),
        HUB_KEY: hub_metadata(schema).encode(),
    }
    return pa.schema([arrow_field(f) for f in schema], metadata)


def arrow_field(field: Field) -> pa.Field:
    """The Arrow field that one of ours is written as."""
    # `datasets` believes its own metadata only of fields that allow nulls, and shows dicts and
    # bare numbers else; whether ours do is kept in our metadata.
    shown = field.kind == "image" or is_class_label(field)
    return pa.field(field.name, _arrow_type(field), nullable=field.nullable or shown)


def _arrow_type(field: Field) -> pa.DataType:
    match field.kind:
        case "image":
            # Not large_binary: readers that show images by this struct pass over it in silence.
            return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        case "bytes":
            return pa.binary()
        case "text":
            return pa.string()
        case "ragged":
            return pa.list_(_element(field))
        case "fixed" if field.shape:
            size = math.prod(field.shape)
            if not 0 < size <= 2**31 - 1:
                raise SchemaError(
                    f"field {field.name!r}: a value of shape {field.shape} has {size} elements; "
                    "Parquet takes 1 to 2,147,483,647: leave the field out, or make it ragged"
                )
            return pa.list_(_element(field), size)
        case "fixed":
            return pa.from_numpy_dtype(field.element)
    raise SchemaError(f"field {field.name!r}: kind {field.kind!r} cannot be written")


def _element(field: Field) -> pa.Field:
    return pa.field("element", pa.from_numpy_dtype(field.element), nullable=False)


def schema_of(arrow: pa.Schema) -> Schema:
    """The schema of an Arrow schema: exactly ours for files that we wrote, else the nearest.

    Raises:
        SchemaError: a column's name is used twice, or our own metadata is damaged.
        NewerFormatError: written by a later version of the profile.
    """
    metadata = arrow.metadata or {}
    own = _own_schema(metadata[OWN_KEY]) if OWN_KEY in metadata else None
    if own is not None and own.names == tuple(arrow.names):
        fits = all(arrow_field(f).equals(a) for f, a in zip(own, arrow, strict=True))
        if fits:
            return own
    classes, kinds = hub_classes(metadata), hub_types(metadata)
    return Schema(tuple(_foreign_field(a, classes, kinds) for a in arrow))


def _own_schema(raw: bytes) -> Schema | None:
    try:
        own = json.loads(raw)
        version, rows = int(own["version"]), own["fields"]
    except (ValueError, KeyError, TypeError, RecursionError) as e:
        raise SchemaError(f"the Parquet key 'forebay' is not a schema of ours: {e!r}") from e
    if version > VERSION:
        raise NewerFormatError(
            f"Parquet profile version {version} is newer than the {VERSION} known: upgrade forebay"
        )
    schema = Schema.from_json(rows)
    return None if any(f.kind == "other" for f in schema) else schema


def _foreign_field(
    arrow: pa.Field, classes: dict[str, tuple[str, ...]], kinds: dict[str, str]
) -> Field:
    name, type_ = arrow.name, arrow.type
    if kinds.get(name, "Image") == "Image" and _is_image(type_):
        return Field(name, "image", encoding="image", nullable=arrow.nullable)
    if types.is_string(type_) or types.is_large_string(type_):
        return Field(name, "text", nullable=arrow.nullable)
    if types.is_binary(type_) or types.is_large_binary(type_):
        return Field(name, "bytes", nullable=arrow.nullable)
    if dtype := _number(type_):
        labels = classes.get(name, ()) if types.is_integer(type_) else ()
        return Field(name, "fixed", dtype=dtype, nullable=arrow.nullable, classes=labels)
    if types.is_fixed_size_list(type_) and (dtype := _number(type_.value_type)):
        shape = (type_.list_size,)
        return Field(name, "fixed", dtype=dtype, shape=shape, nullable=arrow.nullable)
    if types.is_list(type_) or types.is_large_list(type_):
        dtype = _number(type_.value_type)
        if dtype:
            return Field(name, "ragged", dtype=dtype, nullable=arrow.nullable)
    return Field(name, "other", nullable=arrow.nullable)


def _number(type_: pa.DataType) -> str:
    """NumPy's name of a number's or boolean's type, or "" where it is neither."""
    if types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_):
        return {"halffloat": "float16", "float": "float32", "double": "float64"}.get(
            str(type_), str(type_)
        )
    return ""


def _is_image(type_: pa.DataType) -> bool:
    if not types.is_struct(type_) or {f.name for f in type_} != {"bytes", "path"}:
        return False
    inner = {f.name: f.type for f in type_}
    return bool(types.is_binary(inner["bytes"]) or types.is_large_binary(inner["bytes"])) and bool(
        types.is_string(inner["path"]) or types.is_large_string(inner["path"])
    )


def unreadable(arrow: pa.Schema) -> str:
    """The first column whose type the decoder cannot be trusted with, and why; "" where none.

    Lists of fixed size 0 cannot be told from their levels, and crash the decoder.
    """
    waiting: list[tuple[str, Any]] = [(f.name, f.type) for f in arrow]
    while waiting:
        name, type_ = waiting.pop()
        if types.is_fixed_size_list(type_) and type_.list_size < 1:
            return f"column {name!r} holds lists of fixed size {type_.list_size}"
        waiting += [(name, type_.field(i).type) for i in range(type_.num_fields)]
    return ""
