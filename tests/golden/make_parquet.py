"""Makes the golden Parquet shards of version 1: `python tests/golden/make_parquet.py`.

Run it once per version of the profile; the files are committed and never made again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from forebay.formats.builder import BlockBuilder
from forebay.formats.codecs.codec import codec_of
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import Field, Schema

if TYPE_CHECKING:
    from forebay.formats.shard import ShardEntry

FOLDER = Path(__file__).parent / "parquet"
CODECS = {"v1-none": '{"id":"none"}', "v1-zstd": '{"id":"zstd","level":3}'}


def schema() -> Schema:
    """Every kind of field, with and without nulls."""
    spec = {
        "image": "image",
        "thumb": "png?",
        "text": "text?",
        "bytes": "bytes",
        "flag": "bool?",
        "half": "float16",
        "x": "float32[2,3]?",
        "ids": "uint16[*]?",
    }
    label = Field("label", "fixed", dtype="int64", classes=("cat", "dög"))
    return Schema((*Schema.parse(spec).fields, label))


def record(i: int) -> dict[str, Any]:
    """Record i: arithmetic alone, no generator that could change."""
    return {
        "image": (bytes((i * 7 + j) % 256 for j in range(40 + i)), f"é{i}.jpg" if i % 2 else None),
        "thumb": None if i % 3 == 0 else bytes([i, 255 - i]),
        "text": None if i % 4 == 0 else "水" * (i % 5),
        "bytes": b"\0" * (i % 3),
        "flag": None if i % 5 == 0 else i % 2 == 0,
        "half": np.float16(i / 4),
        "x": None if i % 6 == 0 else np.arange(6, dtype=np.float32).reshape(2, 3) * i,
        "ids": None if i % 7 == 0 else np.arange(i % 4, dtype=np.uint16) + 65_000,
        "label": i % 2,
    }


def make(folder: Path, stem: str, codec: str) -> ShardEntry:
    """A shard of two blocks, of 5 and 8 records."""
    writer = ParquetWriter(folder, stem, schema(), codec_of(codec))
    for first, last in ((0, 5), (5, 13)):
        builder = BlockBuilder(schema(), 1 << 30)
        for i in range(first, last):
            builder.add(record(i))
        block = builder.flush()
        if block is not None:
            writer.write(block)
    return writer.close()


def main() -> None:
    """Writes the shards, and beside each what the shard table says of it."""
    FOLDER.mkdir(exist_ok=True)
    for stem, codec in CODECS.items():
        entry = make(FOLDER, stem, codec)
        said = {
            "pyarrow": pa.__version__,
            "codec": entry.codec,
            "bytes": entry.bytes,
            "sha256": entry.sha256,
            "block_rows": entry.block_rows.tolist(),
            "block_bytes": entry.block_bytes.tolist(),
            "block_memory": entry.block_memory.tolist(),
            "footer_bytes": entry.footer_bytes,
            "footer_crc32c": entry.footer_crc32c,
            "chunk_crc32c": entry.chunk_crc32c.tolist(),
        }
        (FOLDER / f"{stem}.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
