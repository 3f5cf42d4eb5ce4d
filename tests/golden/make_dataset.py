"""Makes tests/golden/dataset: a small dataset of each format, of format version 1, two generations.

Run it only for a new format version: the committed files prove that old datasets stay readable.
"""

from __future__ import annotations

import sys
from pathlib import Path

from forebay.formats.writer import write_dataset

FIELDS = {"größe": "text", "n": "int32?", "x": "float32[2]", "ids": "uint16[*]", "blob": "bytes"}
CASES = [(f, c) for f in ("parquet", "recordio") for c in ("zstd", "none")]


def record(i: int) -> dict[str, object]:
    """Record i: a value of each kind, some null, some empty."""
    return {
        "größe": f"Größe {i} " * (i % 4),
        "n": None if i % 5 == 3 else i,
        "x": [i, -i / 4],
        "ids": list(range(i, i + i % 6)),
        "blob": bytes(range(i % 9)),
    }


def make(folder: Path, format: str, codec: str) -> None:
    """Writes the dataset of one case."""
    sizes = {"shard_bytes": 900, "block_bytes": 300}
    records = [record(i) for i in range(30)]
    write_dataset(folder, records[:25], FIELDS, format=format, codec=codec, **sizes)
    write_dataset(folder, records[25:], FIELDS, append=True, **sizes)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "dataset"
    for case in CASES:
        make(target / "-".join(case), *case)
