"""Schemas there and back, ours and others'."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from forebay.formats.errors import NewerFormatError, SchemaError
from forebay.formats.parquet.schema import arrow_schema, schema_of, unreadable
from forebay.formats.record import Field, Schema

SPEC = {
    "image": "png",
    "label": "int64?",
    "x": "float32[2,3]",
    "ids": "uint16[*]",
    "t": "text?",
    "b": "bytes",
}


def test_ours_comes_back_exactly():
    schema = Schema.parse(SPEC)
    assert schema_of(arrow_schema(schema)) == schema
    labelled = Schema((Field("label", "fixed", dtype="int64", classes=("cät", "dog")),))
    assert schema_of(arrow_schema(labelled)) == labelled


def test_image_is_the_struct_that_others_know():
    arrow = arrow_schema(Schema.parse(SPEC))
    assert arrow.field("image").type.field("bytes").type == pa.binary()
    assert arrow.field("image").type.field("path").type == pa.string()
    features = json.loads(arrow.metadata[b"huggingface"])["info"]["features"]
    assert features["image"] == {"_type": "Image"}


@pytest.mark.parametrize(
    ("type_", "spec"),
    [
        (pa.int8(), "int8?"),
        (pa.uint64(), "uint64?"),
        (pa.float16(), "float16?"),
        (pa.bool_(), "bool?"),
        (pa.large_string(), "text?"),
        (pa.large_binary(), "bytes?"),
        (pa.list_(pa.float64()), "float64[*]?"),
        (pa.large_list(pa.bool_()), "bool[*]?"),
        (pa.list_(pa.int16(), 4), "int16[4]?"),
        (pa.struct([("path", pa.string()), ("bytes", pa.binary())]), "image?"),
        (pa.struct([("bytes", pa.binary())]), "other?"),
        (pa.timestamp("us"), "other?"),
        (pa.decimal128(9, 2), "other?"),
        (pa.dictionary(pa.int32(), pa.string()), "other?"),
        (pa.list_(pa.string()), "other?"),
        (pa.list_(pa.list_(pa.int8())), "other?"),
    ],
)
def test_foreign_types(type_, spec):
    (field,) = schema_of(pa.schema([pa.field("a", type_)]))
    assert field.spec == spec
    (required,) = schema_of(pa.schema([pa.field("a", type_, nullable=False)]))
    assert not required.nullable


def test_class_names_and_audio_of_the_hub():
    struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    info = {"l": {"_type": "ClassLabel", "names": ["a", "b"]}, "s": {"_type": "Audio"}}
    metadata = {b"huggingface": json.dumps({"info": {"features": info}}).encode()}
    schema = schema_of(pa.schema([("l", pa.int64()), ("s", struct), ("i", struct)], metadata))
    assert schema["l"].classes == ("a", "b")
    assert [f.kind for f in schema] == ["fixed", "other", "image"]


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"info": 3}', b'{"info":{"features":{"a":1}}}', b"[" * 100_000, b"\xff"]
)
def test_hub_metadata_is_advice_that_may_be_nonsense(text):
    (field,) = schema_of(pa.schema([("a", pa.int64())], {b"huggingface": text}))
    assert field.spec == "int64?"


def test_our_metadata_must_fit_the_columns():
    metadata = arrow_schema(Schema.parse({"a": "float32[2,3]"})).metadata
    (field,) = schema_of(pa.schema([("a", pa.int64())], metadata))
    assert field.spec == "int64?"


def test_our_metadata_damaged_or_newer():
    newer = json.dumps({"version": 2, "fields": []}).encode()
    with pytest.raises(NewerFormatError, match="version 2"):
        schema_of(pa.schema([("a", pa.int64())], {b"forebay": newer}))
    for damaged in (
        b"{",
        b"[1]",
        b'{"version":1,"fields":[{"name":"a","kind":"odd"}]}',
        b"[" * 99999,
    ):
        with pytest.raises(SchemaError):
            schema_of(pa.schema([("a", pa.int64())], {b"forebay": damaged}))


def test_a_name_used_twice():
    with pytest.raises(SchemaError, match="used twice"):
        schema_of(pa.schema([("a", pa.int64()), ("a", pa.int8())]))


def test_types_that_crash_the_decoder_are_found_at_any_depth():
    inner = pa.struct([("x", pa.list_(pa.list_(pa.int8(), 0)))])
    assert "'a'" in unreadable(pa.schema([("b", pa.int8()), ("a", inner)])) or "'x'" in unreadable(
        pa.schema([("a", inner)])
    )
    assert unreadable(pa.schema([("a", pa.list_(pa.int8(), 1))])) == ""
