"""One shard, written from one job: what a worker process does."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.formats.builder import BlockBuilder
from forebay.formats.codecs.codec import codec_of
from forebay.formats.column import Block, row_at
from forebay.formats.errors import SourceError
from forebay.formats.image.header import probe
from forebay.formats.pack.images import Change, Changing
from forebay.formats.pack.journal import DoneShard
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import Schema
from forebay.formats.recordio.writer import RecordIOWriter
from forebay.formats.sources.source import Job, Record, Rejected

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.formats.shard import FormatWriter

COUNTS = struct.Struct("<qq")


@dataclass(frozen=True, slots=True)
class Writing:
    """What all shards of a pack have in common.

    Args:
        schema: of the records as they are written.
        codec: configuration as canonical JSON.
        dictionaries: contents of the files that it names.
        change: what is done to images.
        skip_bad: leave out images that cannot be re-encoded.
        counts: a file of one COUNTS a shard: records and input bytes done.
    """

    schema: Schema
    format: str
    codec: str
    dictionaries: Mapping[str, bytes]
    block_bytes: int
    change: Change
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
    changing = Changing(w.schema, w.change)
    counts = os.open(w.counts, os.O_WRONLY | os.O_CLOEXEC)
    writer = _writer(task)
    records = nbytes = 0
    try:
        for block in _blocks(task, changing, rejected):
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
    return DoneShard(task.number, task.folder.name, entry, tuple(rejected), dict(changing.fates))


def _writer(task: ShardTask) -> FormatWriter:
    w = task.writing
    codec = codec_of(w.codec, dict(w.dictionaries))
    if w.format == "parquet":
        return ParquetWriter(task.folder, task.stem, w.schema, codec)
    return RecordIOWriter(task.folder, task.stem, w.schema, codec, probe)


def _blocks(task: ShardTask, changing: Changing, rejected: list[Rejected]) -> Iterator[Block]:
    builder = BlockBuilder(task.writing.schema, task.writing.block_bytes)
    for item in task.job.read():
        if not isinstance(item, Block):
            yield from _one(task, builder, item, changing, rejected)
        elif changing.idle:
            yield from builder.add_columns(item)
        else:
            for record in _rows(task.writing.schema, item):
                yield from _one(task, builder, record, changing, rejected)
    last = builder.flush()
    if last is not None:
        yield last


def _one(
    task: ShardTask,
    builder: BlockBuilder,
    record: Record,
    changing: Changing,
    rejected: list[Rejected],
) -> Iterator[Block]:
    if not changing.idle:
        try:
            record = changing(record)
        except SourceError as e:
            name = _name_of(record, builder.records)
            if not task.writing.skip_bad:
                raise SourceError(f"{name}: {e}; remove it, or skip it with --skip-bad") from e
            rejected.append(Rejected(name, str(e)))
            return
    block = builder.add(record)
    if block is not None:
        yield block


def _name_of(record: Record, number: int) -> str:
    for value in record.values():
        if isinstance(value, tuple):
            return str(value[1])
    return f"image {number} of its shard"


def _rows(schema: Schema, block: Block) -> Iterator[dict[str, Any]]:
    for i in range(block.rows):
        yield dict(zip(schema.names, row_at(schema, block, i), strict=True))
