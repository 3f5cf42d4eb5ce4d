"""Which columns of a shard are worth compressing, judged by its first block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator

WORTH = 0.9
"""A column that zstd leaves above this part of its bytes is kept as it is: unpacking what was
hardly packed costs several times as much as reading it (benchmarks/bench_parquet.py)."""

_SAMPLE = 1 << 18
_ENOUGH = 1 << 12  # bytes of a column that say how the rest of it will pack


def compressions(table: pa.Table, level: int) -> dict[str, str]:
    """By dotted path of each leaf column, "zstd", or "none" where it would gain too little.

    The same table gives the same choice.

    Args:
        table: the first block of the shard. Columns of which it holds too little to judge them are
            compressed.
        level: of zstd.
    """
    packer = zstandard.ZstdCompressor(level=level)
    chosen = dict.fromkeys(_leaves(table.schema), "zstd")
    for name in table.schema.names if table.num_rows else ():
        raw = b"".join(bytes(b) for b in _values(table.column(name)))
        if len(raw) >= _ENOUGH and len(packer.compress(raw)) > WORTH * len(raw):
            for path in chosen:
                if path == name or path.startswith(f"{name}."):
                    chosen[path] = "none"
    return chosen


def _leaves(schema: pa.Schema) -> list[str]:
    """The paths of the leaf columns, as the writer names them."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    leaves = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [leaves.column(i).path for i in range(len(leaves))]


def _values(column: pa.ChunkedArray) -> Iterator[memoryview]:
    """The first bytes of a column's values: what is largest of its buffers."""
    for chunk in column.chunks:
        buffers = [b for b in chunk.buffers() if b is not None]
        if buffers:
            largest = max(buffers, key=lambda b: b.size)
            yield np.frombuffer(largest, np.uint8)[:_SAMPLE].data
