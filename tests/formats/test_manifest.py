"""forebay.json: round trip, and no byte of it that may change."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.formats.errors import DatasetError, ManifestError, NewerFormatError
from forebay.formats.manifest import Generation, Manifest, fingerprint_of
from forebay.formats.record import Field, Schema
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.formats.storage.memory import MemorySource

SCHEMA = Schema(
    (
        *Schema.parse({"größe": "float32[2]?", "t": "text"}).fields,
        Field("l", "fixed", "int64", classes=("a", "b")),
    )
)


def generation(number=1, parent="", records=5):
    print_ = hashlib.sha256(f"{number}{parent}".encode()).hexdigest()
    table = FileCheck(f"shards-{number:05d}.arrow", 100, 7)
    return Generation(number, parent, print_, 1, records, 10, table, "cd" * 32)


FIRST = generation()
MANIFEST = Manifest(
    SCHEMA,
    "recordio",
    '{"dictionary":"dictionary-00001.zdict","id":"zstd","level":3}',
    (FIRST, generation(2, FIRST.fingerprint)),
    (FileCheck("dictionary-00001.zdict", 12, 0xDEADBEEF),),
)


def resealed(change):
    """The manifest's bytes after a change by someone who recomputes the check."""
    value = json.loads(MANIFEST.to_bytes())
    del value["check"]
    change(value)
    text = lambda v: (json.dumps(v, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()  # noqa: E731
    value["check"] = hashlib.sha256(text(value)).hexdigest()
    return text(value)


def test_round_trip():
    data = MANIFEST.to_bytes()
    again = Manifest.parse(data)
    assert again == MANIFEST
    assert again.to_bytes() == data
    assert (again.records, again.shards, again.stored_bytes) == (10, 2, 20)
    assert resealed(lambda v: None) == data


def test_every_flip_of_every_byte_is_refused():
    data = MANIFEST.to_bytes()
    for at in range(len(data)):
        for flip in (1, 2, 4, 8, 16, 32, 64, 128, 0x20 ^ 0x0A):
            damaged = bytearray(data)
            damaged[at] ^= flip
            with pytest.raises((ManifestError, NewerFormatError)):
                Manifest.parse(bytes(damaged))


def test_no_byte_may_go_or_come():
    data = MANIFEST.to_bytes()
    for at in range(len(data)):
        with pytest.raises(ManifestError):
            Manifest.parse(data[:at])
        with pytest.raises(ManifestError):
            Manifest.parse(data[:at] + b" " + data[at:])


def test_the_version_is_read_before_anything_else():
    newer = json.dumps({"forebay": 2, "whatever": [1]}).encode()
    with pytest.raises(NewerFormatError, match="has format version 2, this forebay reads up to 1"):
        Manifest.parse(newer)
    for version in (0, -1, True, "1", 1.0, None):
        with pytest.raises(ManifestError, match="its version is"):
            Manifest.parse(json.dumps({"forebay": version}).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.update(records=11),
        lambda v: v.update(extra=1),
        lambda v: v.pop("codec"),
        lambda v: v.update(format="csv"),
        lambda v: v["generations"].clear(),
        lambda v: v["generations"].reverse(),
        lambda v: v["generations"][1].update(parent="00"),
        lambda v: v["generations"][0].update(records=-1),
        lambda v: v["generations"][0].update(records=5.0),
        lambda v: v["generations"][0].update(records=1 << 63),
        lambda v: v["generations"][0]["table"].update(file="../shards.arrow"),
        lambda v: v["generations"][0]["table"].update(crc32c="xyz"),
        lambda v: v["generations"][0].update(table=None),
        lambda v: v.update(fields="text"),
        lambda v: v.update(fields=[{"name": "a", "kind": "fixed", "dtype": "object"}]),
        lambda v: v.update(dictionaries=[1]),
    ],
)
def test_values_that_no_writer_writes_are_refused(change):
    with pytest.raises(ManifestError, match="is damaged"):
        Manifest.parse(resealed(change))


@settings(deadline=None)
@given(
    st.binary()
    | st.text().map(str.encode)
    | st.recursive(
        st.none() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    ).map(
        lambda v: json.dumps(
            {
                "forebay": 1,
                "fields": v,
                "format": "parquet",
                "codec": v,
                "generations": v,
                "dictionaries": v,
            }
        ).encode()
    )
)
def test_no_input_does_worse_than_a_dataset_error(data):
    with pytest.raises(DatasetError):
        Manifest.parse(data)


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"forebay": NaN}', b'{"forebay": 1e999}', b"\xff"]
)
def test_json_of_bad_will(data):
    with pytest.raises(ManifestError):
        Manifest.parse(data)


def test_a_manifest_of_bad_size_is_not_read():
    class Huge(MemorySource):
        def size(self, key):
            return 1 << 40

    with pytest.raises(OSError, match="more than the 67108864 expected"):
        Manifest.read(Huge({"forebay.json": b""}))


def test_older_generations_stay():
    old = MANIFEST.at(1)
    assert old.generations == (FIRST,)
    assert old.fingerprint == FIRST.fingerprint
    for wrong in (0, 3):
        with pytest.raises(ManifestError, match=f"no generation {wrong}; the dataset has 1 to 2"):
            MANIFEST.at(wrong)


def test_a_fingerprint_tells_data_blocks_schema_and_parent_apart():
    rows = np.array([2, 3])
    shard = ShardEntry("s", "parquet", "{}", 5, 9, "ab" * 32, rows, rows, rows)
    base = fingerprint_of("", SCHEMA, [shard])
    assert base == fingerprint_of("", SCHEMA, [replace(shard, file="other", footer_crc32c=3)])
    others = [
        fingerprint_of("ab", SCHEMA, [shard]),
        fingerprint_of("", SCHEMA.select(["t"]), [shard]),
        fingerprint_of("", SCHEMA, [shard, shard]),
        fingerprint_of("", SCHEMA, [replace(shard, sha256="cd" * 32)]),
        fingerprint_of("", SCHEMA, [replace(shard, block_rows=np.array([3, 2]))]),
        fingerprint_of("", SCHEMA, [replace(shard, block_bytes=np.array([3, 2]))]),
        fingerprint_of("", SCHEMA, [replace(shard, block_memory=np.array([3, 2]))]),
    ]
    assert len({base, *others}) == 8
