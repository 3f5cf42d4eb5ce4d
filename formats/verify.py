"""Verifying: every byte of a dataset read, and compared with whatever records what it should be."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.formats.errors import DatasetError, ManifestError, NewerFormatError
from forebay.formats.find import find
from forebay.formats.manifest import MANIFEST, Manifest
from forebay.formats.opened import Opened, read_checked, read_table, reader_of
from forebay.formats.shard_check import ShardVerdict, file_faults, verify_shard
from forebay.formats.storage.local import LocalSource
from forebay.formats.verify_report import Fault, VerifyReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from forebay.formats.storage.source import ByteSource


def verify_dataset(
    path: str | os.PathLike[str],
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> VerifyReport:
    """Reads a dataset whole and reports every fault instead of stopping at the first.

    Of our own datasets that is: the manifest's check; size, CRC-32C and SHA-256 of each table; size
    and CRC-32C of dictionaries and indexes; SHA-256 of each shard; every chunk's and record's
    CRC-32C, and its decoding; `.idx` against the index. Of foreign ones: every block is decoded,
    and what no checksum covers is counted.

    Args:
        path: as for `open_dataset`.
        workers: threads; by default one a processor that the process may run on.
        progress: called in this thread with (bytes of shards done, bytes of all shards).

    Raises:
        DatasetNotFound, UnfinishedDataset, NewerFormatError: there is nothing to verify, or
            nothing that this version can. SchemaError, DatasetError, ShardError: a foreign folder
            that cannot be opened.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    folder = Path(path)
    if folder.name == MANIFEST and folder.is_file():
        folder = folder.parent
    if (folder / MANIFEST).is_file():
        return _verify_own(folder, workers, progress)
    opened = find(folder)
    verdicts = list(_verdicts(opened, workers, progress))
    return _report(opened.name, True, verdicts, [], opened.skipped)


def _verify_own(
    folder: Path, workers: int | None, progress: Callable[[int, int], None] | None
) -> VerifyReport:
    source = LocalSource(folder)
    try:
        manifest = Manifest.read(source)
    except NewerFormatError:
        raise
    except DatasetError as e:
        return VerifyReport(str(folder), False, faults=(Fault(MANIFEST, str(e)),))
    faults = list(_beside(source, manifest))
    try:
        table = read_table(folder, manifest)
    except (ManifestError, NewerFormatError) as e:
        faults = faults or [Fault(MANIFEST, str(e))]
        return VerifyReport(str(folder), False, manifest.shards, faults=tuple(faults))
    # A damaged dictionary is a fault of its own; the records that need it cannot be decoded.
    faulty = {f.file for f in faults}
    sound = [d for d in manifest.dictionaries if d.file not in faulty]
    dictionaries = {d.file: read_checked(source, d) for d in sound}
    lacking = frozenset(faulty - dictionaries.keys())
    reader = reader_of(manifest, source, dictionaries)
    opened = Opened(
        source, str(folder), manifest.schema, table, reader, manifest.fingerprint, manifest
    )
    verdicts = list(_verdicts(opened, workers, progress, lacking))
    named = table.files() | {MANIFEST} | {d.file for d in manifest.dictionaries}
    named |= {g.table.file for g in manifest.generations}
    extra = tuple(f.key for f in source.list() if f.key not in named)
    return _report(str(folder), False, verdicts, faults, extra)


def _beside(source: ByteSource, manifest: Manifest) -> Iterator[Fault]:
    """Faults of the tables and dictionaries."""
    for g in manifest.generations:
        yield from file_faults(source, g.table.file, g.table.bytes, g.table.crc32c, g.table_sha256)
    for d in manifest.dictionaries:
        yield from file_faults(source, d.file, d.bytes, d.crc32c)


def _verdicts(
    opened: Opened,
    workers: int | None,
    progress: Callable[[int, int], None] | None,
    lacking: frozenset[str] = frozenset(),
) -> Iterator[ShardVerdict]:
    total = int(opened.table.numbers("bytes").sum()) if len(opened.table) else 0
    done = 0
    threads = workers or len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(threads, "forebay-verify") as pool:
        shards = range(len(opened.table))
        for verdict in pool.map(
            lambda i: verify_shard(opened, opened.table.entry(i), lacking), shards
        ):
            done += verdict.bytes
            if progress is not None:
                progress(done, total)
            yield verdict


def _report(
    name: str,
    foreign: bool,
    verdicts: list[ShardVerdict],
    faults: list[Fault],
    extra: tuple[str, ...],
) -> VerifyReport:
    return VerifyReport(
        dataset=name,
        foreign=foreign,
        shards=len(verdicts),
        records=sum(v.records for v in verdicts),
        bytes=sum(v.bytes for v in verdicts),
        unchecked_records=sum(v.unchecked_records for v in verdicts),
        unchecked_bytes=sum(v.unchecked_bytes for v in verdicts),
        extra_files=extra,
        faults=(*faults, *(f for v in verdicts for f in v.faults)),
    )
