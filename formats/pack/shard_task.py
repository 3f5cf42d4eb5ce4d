"""One shard, written from one job: what a worker process does."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forebay.formats.builder import BlockBuilder
from forebay.formats.codecs.codec import codec_of
from forebay.formats.column import Block, row_at
from forebay.formats.errors import SourceError
from forebay.formats.image.header import probe
from forebay.formats.pack.journal import DoneShard
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import Schema
from forebay.formats.recordio.writer import RecordIOWriter
from forebay.formats.sources.source import Job, Record, Rejected

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.formats.shard import FormatWriter

Reencode = Callable[[bytes], bytes]
COUNTS = struct.Struct("<qq")


@dataclass(frozen=True, slots=True)
class Writing:
    """What all shards of a pack have in common.

    Args:
        schema: of the records as they are written.
        codec: configuration as canonical JSON.
        dictionaries: contents of the files that it names.
        reencode: turns an image's bytes into others; None keeps them.
        skip_bad: leave out images that cannot be re-encoded.
        counts: a file of one COUNTS a shard: records and input bytes done.
    """

    schema: Schema
    format: str
    codec: str
    dictionaries: Mapping[str, bytes]
    block_bytes: int
    reencode: Reencode | None
    skip_bad: bool
    counts: Path


@dataclass(frozen=True, slots=True)
class ShardTask:
    """A shard to be written; picklable.

    Args:
        number: of the job, from 0.
        stem: final name of the shard's files, without suffix.
        folder: where to write them.
    """

    number: int
    stem: str
    folder: Path
    job: Job
    writing: Writing


def write_shard(task: ShardTask, tick: Callable[[], None] | None = None) -> DoneShard:
    """Writes the shard durably; leaves nothing after an error.

    Args:
        task: what to write, and where.
        tick: called after each block.

    Raises:
        SourceError, SchemaError: an input cannot be packed.
        LimitExceeded: a record is too large for the format.
        OSError: a file cannot be written.
    """
    rejected: list[Rejected] = []
    w = task.writing
    counts = os.open(w.counts, os.O_WRONLY | os.O_CLOEXEC)
    writer = _writer(task)
    records = nbytes = 0
    try:
        for block in _blocks(task, rejected):
            writer.write(block)
            records += block.rows
            nbytes += block.nbytes
            os.pwrite(counts, COUNTS.pack(records, nbytes), task.number * COUNTS.size)
            if tick is not None:
                tick()
        entry = writer.close()
        os.pwrite(counts, COUNTS.pack(task.job.records, task.job.nbytes),
                  task.number * COUNTS.size)  # fmt: skip
    except BaseException:
        writer.abort()
        raise
    finally:
        os.close(counts)
    return DoneShard(task.number, task.folder.name, entry, tuple(rejected))


def _writer(task: ShardTask) -> FormatWriter:
    w = task.writing
    codec = codec_of(w.codec, dict(w.dictionaries))
    if w.format == "parquet":
        return ParquetWriter(task.folder, task.stem, w.schema, codec)
    return RecordIOWriter(task.folder, task.stem, w.schema, codec, probe)


def _blocks(task: ShardTask, rejected: list[Rejected]) -> Iterator[Block]:
    builder = BlockBuilder(task.writing.schema, task.writing.block_bytes)
    for item in task.job.read():
        if isinstance(item, Block):
            block = item
            if task.writing.reencode is not None:
                for record in _rows(task.writing.schema, block):
                    yield from _one(task, builder, record, rejected)
                continue
            yield from builder.add_columns(block)
        else:
            yield from _one(task, builder, item, rejected)
    last = builder.flush()
    if last is not None:
        yield last


def _one(
    task: ShardTask, builder: BlockBuilder, record: Record, rejected: list[Rejected]
) -> Iterator[Block]:
    if task.writing.reencode is not None:
        try:
            record = _reencoded(task.writing, record)
        except SourceError as e:
            name = _name_of(record, builder.records)
            if not task.writing.skip_bad:
                raise SourceError(f"{name}: {e}; remove it, or skip it with --skip-bad") from e
            rejected.append(Rejected(name, str(e)))
            return
    block = builder.add(record)
    if block is not None:
        yield block


def _reencoded(writing: Writing, record: Record) -> Record:
    changed = dict(record)
    for field in writing.schema:
        value = record.get(field.name)
        if field.kind != "image" or value is None or writing.reencode is None:
            continue
        data, *path = value if isinstance(value, tuple) else (value,)
        new = writing.reencode(data)
        changed[field.name] = (new, *path) if path else new
    return changed


def _name_of(record: Record, number: int) -> str:
    for value in record.values():
        if isinstance(value, tuple):
            return str(value[1])
    return f"image {number} of its shard"


def _rows(schema: Schema, block: Block) -> Iterator[dict[str, Any]]:
    for i in range(block.rows):
        yield dict(zip(schema.names, row_at(schema, block, i), strict=True))


def as_jpeg(schema: Schema) -> Schema:
    """The schema once its images are re-encoded.

    Raises:
        SourceError: it has no images.
    """
    if not any(f.kind == "image" for f in schema):
        raise SourceError("resize is for images, and the source has none; leave it out")
    return Schema(tuple(replace(f, encoding="jpeg") if f.kind == "image" else f for f in schema))
