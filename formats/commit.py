"""The commit: staged shards become a generation of a dataset, all at once or not at all.

Shards are renamed into the folder, then the table is written, then forebay.json. Until the last
rename the dataset is what it was before. A commit that was killed can be run again with the same
arguments from any point: what was renamed is taken as it lies.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from forebay.formats.errors import DatasetError, ManifestError, SchemaError
from forebay.formats.manifest import FORMATS, MANIFEST, Generation, Manifest, fingerprint_of
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.formats.shard_table import ShardTable
from forebay.formats.storage.local import LocalSource
from forebay.formats.storage.publish import sync_folder, write_atomic
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forebay.formats.record import Schema

DICTIONARY = "dictionary-00001.zdict"


def shard_stem(number: int) -> str:
    """File name without its suffix of shard `number`, counted from 0 over all generations."""
    return f"shard-{number:05d}"


def table_name(generation: int) -> str:
    """File name of the shard table that a generation writes."""
    return "shards.arrow" if generation == 1 else f"shards-{generation:05d}.arrow"


def existing(folder: Path) -> Manifest | None:
    """The manifest in a local folder, or None where there is none.

    Raises:
        ManifestError, NewerFormatError: there is one that cannot be read.
    """
    return Manifest.read(LocalSource(folder)) if (folder / MANIFEST).is_file() else None


def check_same_schema(folder: Path, old: Schema, new: Schema) -> None:
    """Raises SchemaError, naming the first difference, unless records of one fit the other."""
    if old == new:
        return
    if old.names != new.names:
        raise SchemaError(
            f"cannot append to {folder}: its fields are {', '.join(old.names)}, "
            f"the new ones are {', '.join(new.names)}"
        )
    was, now = next((a, b) for a, b in zip(old, new, strict=True) if a != b)
    if was.spec != now.spec:
        raise SchemaError(
            f"cannot append to {folder}: its field {was.name!r} is {was.spec}, "
            f"the new one {now.spec}"
        )
    raise SchemaError(
        f"cannot append to {folder}: its field {was.name!r} has {len(was.classes)} classes and the "
        f"new one {len(now.classes)}, or they have other names or another order"
    )


def commit(
    folder: Path,
    schema: Schema,
    format: str,
    codec: str,
    staged: Sequence[tuple[Path, ShardEntry]],
    dictionaries: Sequence[tuple[Path, FileCheck]] = (),
    parent: int = 0,
) -> Manifest:
    """Makes staged shards the next generation of the dataset in `folder`.

    Args:
        folder: exists; holds the dataset to append to, or none.
        schema: of the records.
        format: "parquet" or "recordio".
        codec: configuration as canonical JSON.
        staged: (folder in which its files lie, shard) for each shard in order, on the file system
            of `folder`; their names are final (`shard_stem`), and every file is durable.
        dictionaries: likewise, the files that `codec` names; those of the parent are kept.
        parent: number of the generation that this one follows; 0 makes a new dataset.

    Returns:
        The manifest written. If the same commit had already been made, it is left as it is.

    Raises:
        DatasetError: the folder holds another dataset, or another writer came first.
        ManifestError: a staged file is neither where it was staged nor in the folder.
        SchemaError: the schema is not the parent's.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    with locked(folder):
        clear_temporaries(folder)
        current = existing(folder)
        base = _base(folder, current, parent)
        if base is not None:
            check_same_schema(folder, base.schema, schema)
        entries = [replace(e, generation=parent + 1) for _, e in staged]
        table = ShardTable.of(entries).to_bytes()
        checks = tuple(c for _, c in dictionaries)
        target = _grown(base, Manifest(schema, format, codec, (), checks), entries, table)
        if current is not None and current != base:
            if current == target:
                return current
            raise DatasetError(
                f"{folder} is at generation {current.last.number}, not at {parent} on which this "
                "commit builds: another writer came first; write again with append"
            )
        for place, entry in staged:
            for name, size in _files(entry):
                _move(place, folder, name, size)
        for place, check in dictionaries:
            _move(place, folder, check.file, check.bytes)
        write_atomic(folder / target.last.table.file, table)
        sync_folder(folder)
        write_atomic(folder / MANIFEST, target.to_bytes())
        return target


def clear_temporaries(folder: Path) -> None:
    """Removes halves of tables and manifests left by killed commits; the caller holds the lock."""
    for pattern in (f".{MANIFEST}.*.tmp", ".shards*.arrow.*.tmp"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def _base(folder: Path, current: Manifest | None, parent: int) -> Manifest | None:
    if parent == 0:
        return None
    if current is None:
        raise DatasetError(f"{folder} has no {MANIFEST} to append to")
    return current.at(parent)


def _grown(
    base: Manifest | None, new: Manifest, entries: Sequence[ShardEntry], table: bytes
) -> Manifest:
    before = base.generations if base else ()
    kept = base.dictionaries if base else ()
    parent = before[-1].fingerprint if before else ""
    if base is not None and (base.format, base.codec) != (new.format, new.codec):
        raise DatasetError(
            f"cannot append {new.format} shards with codec {new.codec} "
            f"to a dataset of {base.format} with codec {base.codec}"
        )
    name = table_name(len(before) + 1)
    generation = Generation(
        number=len(before) + 1,
        parent=parent,
        fingerprint=fingerprint_of(parent, new.schema, entries),
        shards=len(entries),
        records=sum(e.records for e in entries),
        bytes=sum(e.bytes for e in entries),
        table=FileCheck(name, len(table), crc32c(table)),
        table_sha256=hashlib.sha256(table).hexdigest(),
    )
    fresh = tuple(c for c in new.dictionaries if c not in kept)
    return replace(new, generations=(*before, generation), dictionaries=kept + fresh)


def _files(entry: ShardEntry) -> Iterator[tuple[str, int]]:
    yield entry.file, entry.bytes
    for beside in (entry.index, entry.key_index):
        if beside is not None:
            yield beside.file, beside.bytes


def _move(place: Path, folder: Path, name: str, size: int) -> None:
    # A staged file wins over one of the same name in the folder, which no manifest names.
    staged, final = place / name, folder / name
    found = staged if staged.exists() else final
    have = found.stat().st_size if found.exists() else -1
    if have != size:
        what = "is missing" if have < 0 else f"has {have} of {size} bytes"
        raise ManifestError(f"cannot commit {folder}: {name} {what}; write the dataset again")
    if found == staged:
        os.replace(staged, final)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other commits to this folder out; the lock dies with the process."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
