"""Small shards to damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from forebay.formats.builder import BlockBuilder
from forebay.formats.codecs.codec import codec_of
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import Schema

if TYPE_CHECKING:
    from forebay.formats.shard import ShardEntry

SCHEMA = Schema.parse({"image": "jpeg?", "label": "int64", "t": "text", "ids": "uint16[*]?"})


@pytest.fixture(params=['{"id":"none"}', '{"id":"zstd","level":3}'], ids=["none", "zstd"])
def shard(request, tmp_path) -> tuple[bytes, ShardEntry, Schema]:
    """The bytes of a shard of two row groups, its table row and its schema."""
    writer = ParquetWriter(tmp_path, "small", SCHEMA, codec_of(request.param))
    for first in (0, 4):
        builder = BlockBuilder(SCHEMA, 1 << 30)
        for i in range(first, first + 4):
            ids = None if i == 2 else np.arange(i, dtype=np.uint16)
            image = None if i == 1 else (bytes([i]) * 20, f"{i}.jpg")
            builder.add({"image": image, "label": i, "t": "é" * i, "ids": ids})
        block = builder.flush()
        assert block is not None
        writer.write(block)
    entry = writer.close()
    return (tmp_path / entry.file).read_bytes(), entry, SCHEMA
