"""What a dataset is, in numbers that its manifest and shard table hold: no shard is read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.block_table import BlockTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.manifest import Manifest
    from forebay.formats.opened import Opened
    from forebay.formats.record import Schema
    from forebay.formats.shard_table import ShardTable


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, median and largest of some numbers; all 0 where there are none."""

    min: int
    median: int
    max: int

    @staticmethod
    def of(values: NDArray[np.int64]) -> Spread:
        """The spread of (n,) values."""
        if not len(values):
            return Spread(0, 0, 0)
        return Spread(int(values.min()), int(np.median(values)), int(values.max()))


@dataclass(frozen=True, slots=True)
class GenerationSummary:
    """What one writing run added."""

    generation: int
    records: int
    shards: int
    bytes: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ShardSummary:
    """One shard; `generation` is the one that added it."""

    file: str
    records: int
    blocks: int
    bytes: int
    generation: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A dataset as a whole.

    Args:
        codec: its configuration; None where others wrote the shards, which then say it themselves.
        foreign: whether others wrote it.
        generation: newest in view; 0 where foreign.
        bytes: size of the shard files.
        memory_bytes: what all blocks take in memory once decompressed.
        ratio: memory_bytes over bytes; 0 where there are no bytes.
        block_rows: records of a block, or row group.
        block_bytes: bytes of one at rest.
        block_memory: bytes of one in memory.
        unchecked_bytes: size of the shards that nothing outside them checks. Parquet's own page
            checksums may cover a part of it: only reading shows that.
        skipped: files beside a foreign dataset's shards that were not opened.
    """

    path: str
    format: str
    codec: dict[str, Any] | None
    foreign: bool
    fingerprint: str
    generation: int
    records: int
    shards: int
    blocks: int
    bytes: int
    memory_bytes: int
    ratio: float
    block_rows: Spread
    block_bytes: Spread
    block_memory: Spread
    unchecked_bytes: int
    schema: Schema
    generations: tuple[GenerationSummary, ...]
    shard_files: tuple[ShardSummary, ...]
    skipped: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A JSON value of all of it; the schema is `fields`."""
        shallow = {name: getattr(self, name) for name in _NAMES if name != "schema"}
        for name in ("block_rows", "block_bytes", "block_memory"):
            shallow[name] = asdict(shallow[name])
        for name in ("generations", "shard_files"):
            shallow[name] = [asdict(row) for row in shallow[name]]
        return {**shallow, "fields": self.schema.to_json(), "skipped": list(self.skipped)}


_NAMES = tuple(f.name for f in fields(Summary))


def summarize(opened: Opened) -> Summary:
    """The summary of a dataset that was found."""
    table, manifest = opened.table, opened.manifest
    blocks = BlockTable.of(table)
    size = int(table.numbers("bytes").sum())
    memory = int(blocks.memory.sum())
    return Summary(
        path=opened.name,
        format=manifest.format if manifest else table.entry(0).format,
        codec=json.loads(manifest.codec) if manifest else None,
        foreign=manifest is None,
        fingerprint=opened.fingerprint,
        generation=manifest.last.number if manifest else 0,
        records=blocks.total_rows,
        shards=len(table),
        blocks=len(blocks),
        bytes=size,
        memory_bytes=memory,
        ratio=round(memory / size, 4) if size else 0.0,
        block_rows=Spread.of(blocks.rows),
        block_bytes=Spread.of(blocks.bytes),
        block_memory=Spread.of(blocks.memory),
        unchecked_bytes=0 if manifest else size,
        schema=opened.schema,
        generations=_generations(manifest),
        shard_files=_shards(table),
        skipped=opened.skipped,
    )


def _generations(manifest: Manifest | None) -> tuple[GenerationSummary, ...]:
    if manifest is None:
        return ()
    return tuple(
        GenerationSummary(g.number, g.records, g.shards, g.bytes, g.fingerprint)
        for g in manifest.generations
    )


def _shards(table: ShardTable) -> tuple[ShardSummary, ...]:
    columns = [table.numbers(name).tolist() for name in ("records", "bytes", "generation")]
    blocks = table.blocks_per_shard().tolist()
    return tuple(
        ShardSummary(file, records, count, size, generation)
        for file, records, size, generation, count in zip(
            table.names(), *columns, blocks, strict=True
        )
    )
