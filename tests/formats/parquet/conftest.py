"""Writing small shards from plain Python records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from forebay.formats.builder import BlockBuilder
from forebay.formats.codecs.codec import Codec, codec_of
from forebay.formats.parquet.writer import ParquetWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from forebay.formats.column import Block
    from forebay.formats.record import Schema
    from forebay.formats.shard import ShardEntry

    Write = Callable[..., ShardEntry]

ZSTD = '{"id":"zstd","level":3}'


def block_of_records(schema: Schema, records: Sequence[Mapping[str, Any]]) -> Block | None:
    builder = BlockBuilder(schema, 1 << 40)
    for record in records:
        builder.add(record)
    return builder.flush()


@pytest.fixture(scope="session")
def write_shard() -> Write:
    """Writes lists of records, each a block, as `<stem>.parquet`."""

    def write(
        folder: Path,
        schema: Schema,
        *blocks: Sequence[Mapping[str, Any]],
        codec: str | Codec = ZSTD,
        stem: str = "shard",
    ) -> ShardEntry:
        chosen = codec_of(codec) if isinstance(codec, str) else codec
        writer = ParquetWriter(folder, stem, schema, chosen)
        for records in blocks:
            block = block_of_records(schema, records)
            if block is not None:
                writer.write(block)
        return writer.close()

    return write
