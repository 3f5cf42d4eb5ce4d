"""Parquet files: row groups as they are, or their rows shuffled by way of a stage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forebay.formats.errors import SchemaError, ShardError, SourceError
from forebay.formats.parquet.arrays import table_of
from forebay.formats.parquet.describe import describe
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.parquet.schema import arrow_schema
from forebay.formats.record import Field, Schema
from forebay.formats.sources.arrow import check_packable
from forebay.formats.sources.listing import InputFile, check_readable, digest_of
from forebay.formats.sources.order import cuts_by_size
from forebay.formats.sources.source import Cut, CutRequest
from forebay.formats.sources.staged import STAGE, cut_stage, write_stage
from forebay.formats.storage.local import LocalSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forebay.formats.column import Block
    from forebay.formats.shard import ShardEntry


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files of one schema, in the order of their names.

    A field may be null unless the files' counts of nulls, which take empty lists for nulls too,
    rule it out. Unshuffled, shards end where row groups do.
    """

    root: Path
    files: Sequence[InputFile]
    kind = "Parquet"
    holds_images = False
    shuffled = False

    @property
    def digest(self) -> str:
        """Over names, sizes and times of all files."""
        return digest_of(self.kind, self.files)

    def cut(self, request: CutRequest) -> Cut:
        """Runs of row groups, or of rows of the stage when shuffled."""
        check_readable(self.root, self.files)
        store = LocalSource(self.root)
        schema, entries = self._described(store)
        nullable = self._nullable()
        schema = Schema(tuple(replace(f, nullable=f.name in nullable) for f in schema))
        groups = [(i, b) for i, e in enumerate(entries) for b in range(len(e.block_rows))]
        rows = np.array([entries[i].block_rows[b] for i, b in groups], np.int64)
        if not rows.sum():
            raise SourceError(f"{self.root} has no rows: there is nothing to pack")
        if request.seed is not None:
            jobs = [ParquetJob(store, schema, tuple((entries[i], b) for i, b in groups))]
            arrow = arrow_schema(schema)
            path = request.stage / STAGE
            if not path.exists():
                write_stage(request.stage, arrow, _batches(jobs[0], arrow))
            return cut_stage(path, request, str(self.root))
        sizes = np.array([entries[i].block_memory[b] for i, b in groups], np.int64)
        return Cut(
            schema,
            [
                ParquetJob(store, schema, tuple((entries[i], b) for i, b in groups[start:stop]))
                for start, stop in cuts_by_size(sizes, request.shard_bytes)
            ],
        )

    def _described(self, store: LocalSource) -> tuple[Schema, list[ShardEntry]]:
        first: Schema | None = None
        entries = []
        for file in self.files:
            try:
                schema, entry = describe(store, file.name)
            except (ShardError, SchemaError) as e:
                raise SourceError(f"cannot read {self.root / file.name}: {e}") from e
            if first is None:
                first = schema
                arrow = pq.read_schema(self.root / file.name)
                types = {f.name: str(f.type) for f in arrow}
                check_packable(first, types, str(self.root / file.name))
            if _loose(schema) != _loose(first):
                raise SourceError(_difference(self.root, self.files[0], file, first, schema))
            entries.append(entry)
        if first is None:
            raise SourceError(f"{self.root} holds no Parquet files")
        return first, entries

    def _nullable(self) -> set[str]:
        """Names of the fields of which a file says, or does not deny, that they have nulls."""
        found: set[str] = set()
        for file in self.files:
            with pq.ParquetFile(self.root / file.name) as opened:
                found |= _with_nulls(opened)
        return found


def _with_nulls(file: pq.ParquetFile) -> set[str]:
    images = {f.name for f in file.schema_arrow if pa.types.is_struct(f.type)}
    may = {f.name for f in file.schema_arrow if f.nullable}
    found: set[str] = set()
    for g in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(g)
        for c in range(group.num_columns):
            chunk = group.column(c)
            name, *inner = chunk.path_in_schema.split(".")
            # An image's path may be null where its bytes are not.
            if name not in may or (name in images and inner != ["bytes"]):
                continue
            counts = chunk.statistics
            if counts is None or not counts.has_null_count or counts.null_count:
                found.add(name)
    return found


@dataclass(frozen=True, slots=True)
class ParquetJob:
    """Some row groups, in order."""

    store: LocalSource
    schema: Schema
    groups: tuple[tuple[ShardEntry, int], ...]

    @property
    def records(self) -> int:
        """Number of rows."""
        return sum(int(e.block_rows[b]) for e, b in self.groups)

    @property
    def nbytes(self) -> int:
        """Bytes at rest."""
        return sum(int(e.block_bytes[b]) for e, b in self.groups)

    def read(self) -> Iterator[Block]:
        """One block a row group, each read and checked whole."""
        reader = ParquetReader(self.store, self.schema)
        for entry, block in self.groups:
            try:
                yield reader.read(entry, block, self.schema)
            except ShardError as e:
                raise SourceError(f"cannot read {self.store.name}: {e}") from e


def _batches(job: ParquetJob, arrow: pa.Schema) -> Iterator[pa.RecordBatch]:
    for block in job.read():
        yield from table_of(job.schema, block, arrow).to_batches(max_chunksize=65_536)


def _loose(schema: Schema) -> list[Field]:
    return [replace(f, nullable=False) for f in schema]


def _difference(root: Path, first: InputFile, other: InputFile, was: Schema, now: Schema) -> str:
    said = ", ".join(f"{f.name}: {f.spec}" for f in now if f not in was.fields) or "fewer fields"
    return (
        f"{root / other.name} has other columns than {first.name} ({said}; "
        f"expected {', '.join(f'{f.name}: {f.spec}' for f in was)}): pack them apart"
    )
