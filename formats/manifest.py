"""forebay.json: the small file whose appearance makes a dataset, and what it says.

See SPEC.md beside this file. The bytes of a manifest are a function of its values, and a reader
accepts no other bytes for them, so damage anywhere in the file is noticed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from forebay.formats.errors import ManifestError, NewerFormatError, SchemaError, TruncatedShard
from forebay.formats.record import Schema
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.formats.storage.source import ByteSource, read_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MANIFEST = "forebay.json"
VERSION = 1
FORMATS = {"parquet": ".parquet", "recordio": ".rec"}
_SIZE_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class Generation:
    """What one writing run added.

    Args:
        number: 1 for the first.
        parent: fingerprint of the generation before; "" for the first.
        fingerprint: of the dataset up to this generation, see `fingerprint_of`.
        shards: number of shards added.
        records: number of records added.
        bytes: size of the shard files added.
        table: the shard table of the shards added.
        table_sha256: hex digest of that file.
    """

    number: int
    parent: str
    fingerprint: str
    shards: int
    records: int
    bytes: int
    table: FileCheck
    table_sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The values of forebay.json.

    Args:
        format: "parquet" or "recordio", the same for all shards.
        codec: configuration as canonical JSON, see `formats.codecs`.
        generations: oldest first; at least one.
        dictionaries: files that the codec's configuration names.
    """

    schema: Schema
    format: str
    codec: str
    generations: tuple[Generation, ...]
    dictionaries: tuple[FileCheck, ...] = ()

    @property
    def last(self) -> Generation:
        """The newest generation."""
        return self.generations[-1]

    @property
    def fingerprint(self) -> str:
        """What the dataset is, as 64 hex digits: equal where schema, shards and blocks are."""
        return self.last.fingerprint

    @property
    def shards(self) -> int:
        """Number of shards of all generations."""
        return sum(g.shards for g in self.generations)

    @property
    def records(self) -> int:
        """Number of records of all generations."""
        return sum(g.records for g in self.generations)

    @property
    def stored_bytes(self) -> int:
        """Size of all shard files."""
        return sum(g.bytes for g in self.generations)

    def at(self, generation: int) -> Manifest:
        """The dataset as it was when `generation` had just been written.

        Raises:
            ManifestError: there is no such generation.
        """
        if not 1 <= generation <= len(self.generations):
            raise ManifestError(
                f"no generation {generation}; the dataset has 1 to {len(self.generations)}"
            )
        return replace(self, generations=self.generations[:generation])

    def to_bytes(self) -> bytes:
        """The only bytes that `parse` takes for these values."""
        value = self._to_json()
        value["check"] = hashlib.sha256(_text(value)).hexdigest()
        return _text(value)

    @staticmethod
    def parse(data: bytes, name: str = MANIFEST) -> Manifest:
        """The manifest in these bytes.

        Raises:
            NewerFormatError: a later version wrote it.
            ManifestError: a byte of it is not what a writer wrote.
        """
        try:
            value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as e:
            raise ManifestError(f"{name} is damaged: not JSON in UTF-8 ({e}); {_REMEDY}") from e
        _check_version(value, name)
        try:
            manifest = _from_json(value)
            same = manifest.to_bytes() == data
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as e:
            raise ManifestError(f"{name} is damaged: {type(e).__name__} {e}; {_REMEDY}") from e
        if not same:
            raise ManifestError(f"{name} is damaged: its check does not match its bytes; {_REMEDY}")
        return manifest

    @staticmethod
    def read(source: ByteSource) -> Manifest:
        """The manifest of a dataset's folder; raises as `parse`, and what the source raises."""
        name = f"{source.name}/{MANIFEST}"
        try:
            data = read_all(source, MANIFEST, _SIZE_LIMIT)
        except TruncatedShard as e:
            raise ManifestError(f"{name} changed while it was read: {e.what}") from e
        return Manifest.parse(data, name)

    def _to_json(self) -> dict[str, Any]:
        return {
            "forebay": VERSION,
            "fields": self.schema.to_json(),
            "format": self.format,
            "codec": json.loads(self.codec),
            "dictionaries": [_check_json(d) for d in self.dictionaries],
            "shards": self.shards,
            "records": self.records,
            "bytes": self.stored_bytes,
            "generation": self.last.number,
            "parent": self.last.parent,
            "fingerprint": self.fingerprint,
            "generations": [_generation_json(g) for g in self.generations],
        }


def fingerprint_of(parent: str, schema: Schema, shards: Iterable[ShardEntry]) -> str:
    """The fingerprint of a generation: SHA-256 over its parent's, the schema and its shards.

    A shard gives its digest and its blocks' rows, bytes and memory, since the order of an epoch
    follows from how the rows are cut into blocks and from what the blocks take in memory.
    """
    digest = hashlib.sha256(b"forebay-fingerprint-1\0")
    digest.update(parent.encode() + b"\0")
    digest.update(_text(schema.to_json()) + b"\0")
    for shard in shards:
        digest.update(bytes.fromhex(shard.sha256))
        digest.update(len(shard.block_rows).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(shard.block_rows, "<i8").tobytes())
        digest.update(np.ascontiguousarray(shard.block_bytes, "<i8").tobytes())
        digest.update(np.ascontiguousarray(shard.block_memory, "<i8").tobytes())
    return digest.hexdigest()


_REMEDY = "restore it from its source or write the dataset again"


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8")


def _check_version(value: Any, name: str) -> None:
    version = value.get("forebay") if isinstance(value, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ManifestError(f"{name} is not a forebay manifest: its version is {version!r}")
    if version > VERSION:
        raise NewerFormatError(
            f"{name} has format version {version}, this forebay reads up to {VERSION}: "
            "upgrade forebay"
        )


def _check_json(check: FileCheck) -> dict[str, Any]:
    return {"file": check.file, "bytes": check.bytes, "crc32c": f"{check.crc32c:08x}"}


def _generation_json(g: Generation) -> dict[str, Any]:
    return {
        "generation": g.number,
        "parent": g.parent,
        "fingerprint": g.fingerprint,
        "shards": g.shards,
        "records": g.records,
        "bytes": g.bytes,
        "table": {**_check_json(g.table), "sha256": g.table_sha256},
    }


def _from_json(value: Mapping[str, Any]) -> Manifest:
    if value["format"] not in FORMATS:
        raise SchemaError(f"format {value['format']!r} is unknown")
    generations = tuple(_generation_from(g) for g in value["generations"])
    parent = ""
    for number, g in enumerate(generations, 1):
        if g.number != number or g.parent != parent:
            raise ValueError(f"generation {g.number} does not follow the one before it")
        parent = g.fingerprint
    if not generations:
        raise ValueError("no generation")
    return Manifest(
        schema=Schema.from_json(value["fields"]),
        format=value["format"],
        codec=json.dumps(value["codec"], sort_keys=True, separators=(",", ":")),
        generations=generations,
        dictionaries=tuple(_check_from(d) for d in value["dictionaries"]),
    )


def _generation_from(row: Mapping[str, Any]) -> Generation:
    table = row["table"]
    return Generation(
        number=_count(row["generation"]),
        parent=str(row["parent"]),
        fingerprint=str(row["fingerprint"]),
        shards=_count(row["shards"]),
        records=_count(row["records"]),
        bytes=_count(row["bytes"]),
        table=_check_from(table),
        table_sha256=str(table["sha256"]),
    )


def _check_from(row: Mapping[str, Any]) -> FileCheck:
    name = str(row["file"])
    if "/" in name or name.startswith("."):
        raise ValueError(f"file name {name!r} is not one of the dataset's folder")
    return FileCheck(name, _count(row["bytes"]), int(str(row["crc32c"]), 16))


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r} is not a count")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
