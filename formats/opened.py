"""A dataset that was found: where its bytes are, its schema, its shards and what reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forebay.formats.errors import (
    DatasetNotFound,
    ManifestError,
    TruncatedShard,
    UnfinishedDataset,
)
from forebay.formats.manifest import MANIFEST, Manifest
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.recordio.reader import RecordIOReader
from forebay.formats.shard_table import ShardTable
from forebay.formats.staging import unfinished
from forebay.formats.storage.local import LocalSource
from forebay.formats.storage.source import ByteSource, read_all
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.formats.record import Schema
    from forebay.formats.shard import FileCheck, FormatReader, ShardEntry

SIZES_CHECKED = 10_000
"""Shards whose size is looked up when a dataset is opened (about 3 us each on a local disk)."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What `open_dataset` and `verify_dataset` both begin with.

    Args:
        name: what to call the dataset in messages.
        fingerprint: 64 hex digits; see `manifest.fingerprint_of` and `foreign.fingerprint_of`.
        manifest: None for foreign datasets.
        skipped: files beside the shards that were not opened (foreign datasets).
    """

    source: ByteSource
    name: str
    schema: Schema
    table: ShardTable
    reader: FormatReader
    fingerprint: str
    manifest: Manifest | None = None
    skipped: tuple[str, ...] = field(default=())


def open_own(folder: Path, generation: int | None = None) -> Opened:
    """The dataset whose forebay.json is in `folder`.

    Raises:
        ManifestError: forebay.json, a table or a dictionary is damaged or disagrees with the files,
            or there is no such generation.
        NewerFormatError: a later version wrote it.
    """
    source = LocalSource(folder)
    manifest = Manifest.read(source)
    if generation is not None:
        manifest = manifest.at(generation)
    table = read_table(folder, manifest)
    check_sizes(source, table)
    dictionaries = read_dictionaries(source, manifest)
    reader = reader_of(manifest, source, dictionaries)
    return Opened(
        source, str(folder), manifest.schema, table, reader, manifest.fingerprint, manifest
    )


def reader_of(
    manifest: Manifest, source: ByteSource, dictionaries: dict[str, bytes]
) -> FormatReader:
    """The reader of a dataset's format."""
    if manifest.format == "parquet":
        return ParquetReader(source, manifest.schema)
    return RecordIOReader(source, manifest.schema, dictionaries)


def read_table(folder: Path, manifest: Manifest) -> ShardTable:
    """The shards of all generations of a manifest; each table is checked and compared with it."""
    tables = []
    for generation in manifest.generations:
        table = ShardTable.open(folder / generation.table.file, generation.table)
        said = (generation.shards, generation.records, generation.bytes)
        found = (
            len(table),
            int(table.numbers("records").sum()),
            int(table.numbers("bytes").sum()),
        )
        if said != found:
            raise ManifestError(
                f"{folder / MANIFEST} says (shards, records, bytes) = {said} of generation "
                f"{generation.number}, its table {generation.table.file} {found}; "
                "write the dataset again"
            )
        tables.append(table)
    return ShardTable.join(tables)


def read_dictionaries(source: ByteSource, manifest: Manifest) -> dict[str, bytes]:
    """Contents of the manifest's dictionary files by name, each checked.

    Raises:
        ManifestError: one is missing or damaged.
    """
    found: dict[str, bytes] = {}
    for check in manifest.dictionaries:
        fault = size_fault(source, check.file, check.bytes)
        if fault is None:
            found[check.file] = read_checked(source, check)
        else:
            raise ManifestError(f"{source.name}/{check.file} {fault}; {_REMEDY}")
    return found


def read_checked(source: ByteSource, check: FileCheck) -> bytes:
    """A small file of the size and CRC that `check` says, else ManifestError."""
    try:
        data = read_all(source, check.file, check.bytes)
    except TruncatedShard as e:
        raise ManifestError(f"{source.name}/{check.file} {e.what}") from e
    crc = crc32c(data)
    if crc != check.crc32c:
        raise ManifestError(
            f"{source.name}/{check.file} is damaged: CRC-32C {crc:08x}, recorded is "
            f"{check.crc32c:08x}; {_REMEDY}"
        )
    return data


def check_sizes(source: ByteSource, table: ShardTable) -> None:
    """Compares the files of the first SIZES_CHECKED shards with the table, by size alone.

    Raises:
        ManifestError: a file is missing or has another size; says have N of M bytes.
    """
    for i in range(min(len(table), SIZES_CHECKED)):
        for name, size in files_of(table.entry(i)):
            fault = size_fault(source, name, size)
            if fault:
                raise ManifestError(f"shard {i} of {source.name}: {name} {fault}; {_REMEDY}")


def files_of(entry: ShardEntry) -> list[tuple[str, int]]:
    """(name, size) of each file that a shard consists of and a reader needs or verify checks."""
    beside = [c for c in (entry.index, entry.key_index) if c is not None]
    return [(entry.file, entry.bytes), *((c.file, c.bytes) for c in beside)]


def size_fault(source: ByteSource, name: str, size: int) -> str | None:
    """What is wrong with a file's size; None where it is as recorded."""
    try:
        have = source.size(name)
    except DatasetNotFound:
        return "is missing"
    if have == size:
        return None
    return f"has another size than recorded: have {have} of {size} bytes"


def refuse_unfinished(folder: Path) -> None:
    """Raises UnfinishedDataset where a writer was stopped, or is at work, in a folder."""
    left = unfinished(folder)
    if left:
        raise UnfinishedDataset(
            f"{folder} has no {MANIFEST} but {left[0]}: its writer is at work or was stopped; "
            "let it finish, or run it again"
        )


_REMEDY = "restore it from its source or write the dataset again"
