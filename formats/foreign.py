"""Datasets that others wrote: folders of Parquet, bare .rec files, and single files of either."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from forebay.formats.errors import DatasetError, DatasetNotFound, SchemaError
from forebay.formats.opened import Opened
from forebay.formats.parquet.describe import describe
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.recordio.reader import RecordIOReader
from forebay.formats.recordio.scan import scan_shard
from forebay.formats.shard_table import ShardTable
from forebay.formats.storage.local import LocalSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay.formats.record import Schema
    from forebay.formats.shard import ShardEntry
    from forebay.formats.storage.source import ByteSource, StoredFile

Format = Literal["parquet", "recordio"]
_SUFFIXES: dict[str, Format] = {".parquet": "parquet", ".rec": "recordio"}
_MAGICS: dict[bytes, Format] = {
    b"PAR1": "parquet",
    b"PARE": "parquet",
    b"\x0a\x23\xd7\xce": "recordio",
}
_EDGE = 4096


def open_foreign(path: Path, format: Format | None = None) -> Opened:
    """The dataset that a folder or a single file without a manifest makes.

    Folders are searched for `.parquet` or `.rec` files at any depth, in the order of their names;
    those whose name, or a folder of theirs, begins with "." or "_" are left out.

    Raises:
        DatasetNotFound: nothing is there, or nothing of either format.
        DatasetError: both formats are there and `format` does not choose.
        SchemaError: two shards have different schemas; names both.
        ShardError: a shard cannot be described.
    """
    if path.is_file():
        source = LocalSource(path.parent)
        chosen = format or _format_of_file(path)
        return _opened(source, str(path), chosen, [path.name], ())
    source = LocalSource(path)
    files = source.list()
    found = {f.key: kind for f in files if (kind := _kind(f))}
    kinds = sorted(set(found.values()))
    if format is None and len(kinds) > 1:
        raise DatasetError(f"{path} holds both Parquet and RecordIO files: say which with format=")
    chosen = format or (kinds[0] if kinds else "parquet")
    keys = [key for key, kind in found.items() if kind == chosen]
    if not keys:
        raise DatasetNotFound(_nothing(path, files, format))
    skipped = tuple(f.key for f in files if f.key not in keys and not f.key.endswith(".idx"))
    return _opened(source, str(path), chosen, keys, skipped)


def fingerprint_of(source: ByteSource, schema: Schema, entries: Sequence[ShardEntry]) -> str:
    """SHA-256 over the schema and each file's name, size, blocks, first and last 4 KiB.

    That is what can be said without reading everything: a change in the middle of a file that
    keeps its size goes unnoticed, except where it changes a Parquet footer.
    """
    digest = hashlib.sha256(b"forebay-foreign-1\0")
    digest.update(repr(schema.to_json()).encode())
    for entry in entries:
        digest.update(f"\0{entry.file}\0{entry.bytes}\0{entry.footer_crc32c}\0".encode())
        for numbers in (entry.block_rows, entry.block_bytes, entry.block_memory):
            digest.update(np.ascontiguousarray(numbers, "<i8").tobytes())
        edge = min(_EDGE, entry.bytes)
        for offset in (0, entry.bytes - edge):
            piece = bytearray(edge)
            source.read_into(entry.file, [offset], [memoryview(piece)])
            digest.update(piece)
    return digest.hexdigest()


def _opened(
    source: LocalSource, name: str, format: Format, keys: Sequence[str], skipped: tuple[str, ...]
) -> Opened:
    describe_all = _describe_parquet if format == "parquet" else _scan_recordio
    schema, entries, reader = describe_all(source, keys)
    fingerprint = fingerprint_of(source, schema, entries)
    table = ShardTable.of(entries)
    return Opened(source, name, schema, table, reader, fingerprint, None, skipped)


def _describe_parquet(
    source: LocalSource, keys: Sequence[str]
) -> tuple[Schema, list[ShardEntry], ParquetReader]:
    found = [describe(source, key) for key in keys]
    schema = _one_schema(keys, [s for s, _ in found])
    return schema, [entry for _, entry in found], ParquetReader(source, schema)


def _scan_recordio(
    source: LocalSource, keys: Sequence[str]
) -> tuple[Schema, list[ShardEntry], RecordIOReader]:
    found = [scan_shard(source, key) for key in keys]
    schema = _one_schema(keys, [f.schema for f in found])
    indexes = {f.entry.file: f.index for f in found}
    return schema, [f.entry for f in found], RecordIOReader(source, schema, {}, indexes)


def _one_schema(keys: Sequence[str], schemas: Sequence[Schema]) -> Schema:
    first = schemas[0]
    for key, schema in zip(keys, schemas, strict=True):
        if schema != first:
            raise SchemaError(
                f"{keys[0]} and {key} have different schemas: {_difference(first, schema)}; "
                "put them into folders of their own"
            )
    return first


def _difference(a: Schema, b: Schema) -> str:
    if a.names != b.names:
        return f"fields {', '.join(a.names)} and {', '.join(b.names)}"
    was, now = next((x, y) for x, y in zip(a, b, strict=True) if x != y)
    if was.spec == now.spec:
        return f"the classes of field {was.name!r}"
    return f"field {was.name!r} is {was.spec} and {now.spec}"


def _kind(file: StoredFile) -> Format | None:
    if any(part.startswith((".", "_")) for part in file.key.split("/")):
        return None
    return _SUFFIXES.get(Path(file.key).suffix)


def _format_of_file(path: Path) -> Format:
    """By the suffix, else by the first bytes."""
    known = _SUFFIXES.get(path.suffix)
    if known:
        return known
    with open(path, "rb") as file:
        kind = _MAGICS.get(file.read(4))
    if kind is None:
        raise DatasetNotFound(
            f"{path} is neither Parquet nor RecordIO: give a dataset's folder, a .parquet or a "
            ".rec file; other files go through `forebay pack`"
        )
    return kind


def _nothing(path: Path, files: Sequence[StoredFile], format: Format | None) -> str:
    wanted = {"parquet": ".parquet", "recordio": ".rec", None: ".parquet or .rec"}[format]
    if not files:
        return f"{path} is an empty folder: there is no dataset in it"
    return (
        f"{path} holds no forebay.json and no {wanted} file, but {files[0].key!r} and "
        f"{len(files) - 1} more: make a dataset of them with `forebay pack`"
    )
