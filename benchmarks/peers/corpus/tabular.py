"""Tabular: five million rows of 20 float32 and a string, about 450 MB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .make import Format

ROWS = 5_000_000
COLUMNS = 20
GROUP = 65_536
NAMES = tuple(f"x{i:02d}" for i in range(COLUMNS))
STRINGS = 1_000


def chunks() -> Iterator[dict[str, Any]]:
    """Row groups as columns: x00 to x19 float32, normal; `key`, one of 1,000 strings."""
    generator = np.random.default_rng(0)
    strings = np.array([f"customer-{i:06d}" for i in range(STRINGS)], dtype=object)
    for at in range(0, ROWS, GROUP):
        rows = min(GROUP, ROWS - at)
        chunk: dict[str, Any] = {n: generator.standard_normal(rows, np.float32) for n in NAMES}
        chunk["key"] = strings[generator.integers(0, STRINGS, rows)]
        yield chunk


def parquet(folder: Path, out: Path) -> None:
    """One Parquet file, zstd, row groups of 65,536 rows, a dictionary for the string alone.

    pyarrow's default, a dictionary for every column, makes noise half as large again and slower.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    out.mkdir()
    fields = [*((name, pa.float32()) for name in NAMES), ("key", pa.string())]
    options = {"compression": "zstd", "use_dictionary": ["key"]}
    with pq.ParquetWriter(out / "table.parquet", pa.schema(fields), **options) as writer:
        for chunk in chunks():
            writer.write_table(pa.table(chunk, pa.schema(fields)), GROUP)


def forebay(folder: Path, out: Path) -> None:
    """Parquet shards of forebay with its defaults: zstd, blocks of 1 MiB."""
    from forebay.formats.column import Block, FixedColumn, VarColumn
    from forebay.formats.writer import ShardWriter

    fields = {**dict.fromkeys(NAMES, "float32"), "key": "text"}
    with ShardWriter(out, fields, format="parquet") as writer:
        for chunk in chunks():
            columns: dict[str, Any] = {n: FixedColumn(chunk[n]) for n in NAMES}
            encoded = [s.encode() for s in chunk["key"]]
            lengths = np.array([len(e) for e in encoded], np.int64)
            values = np.frombuffer(b"".join(encoded), np.uint8)
            columns["key"] = VarColumn(values, np.cumsum(lengths) - lengths, lengths)
            writer.write_columns(Block(len(encoded), columns, values.nbytes))


def lance(folder: Path, out: Path) -> None:
    """The Parquet file's rows as a Lance dataset."""
    import lance as module
    import pyarrow.parquet as pq

    file = pq.ParquetFile(folder / "parquet" / "table.parquet")
    module.write_dataset(file.iter_batches(GROUP), str(out), schema=file.schema_arrow)


def matrix(folder: Path, out: Path) -> None:
    """The float32 columns as one (rows, 20) array, for loaders of tables held in memory."""
    out.mkdir()
    stacked = [np.stack([chunk[n] for n in NAMES], 1) for chunk in chunks()]
    np.save(out / "x.npy", np.concatenate(stacked))


FORMATS = {
    "parquet": Format(parquet),
    "forebay": Format(forebay),
    "lance": Format(lance, "lance", ("parquet",)),
    "matrix": Format(matrix),
}
