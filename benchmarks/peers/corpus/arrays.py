"""Formats that records and tokens share: rows of int32 of any length, for every loader's writer."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 65_536
TARS = 8


class Rows:
    """Row i is `values[starts[i] : starts[i + 1]]`, mapped from the folder that `write` made."""

    def __init__(self, folder: Path) -> None:
        self.values: NDArray[np.int32] = np.load(folder / "values.npy", mmap_mode="r")
        self.starts: NDArray[np.int64] = np.load(folder / "starts.npy")

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> NDArray[np.int32]:
        return np.array(self.values[self.starts[i] : self.starts[i + 1]])

    def head(self, count: int) -> Iterator[NDArray[np.int32]]:
        """The first rows."""
        return (self[i] for i in range(min(count, len(self))))


def write(out: Path, lengths: NDArray[np.int64], vocabulary: int) -> None:
    """Random tokens below `vocabulary`, rows of these lengths; the same on every machine."""
    out.mkdir()
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    np.save(out / "starts.npy", starts)
    generator = np.random.default_rng(1)
    values = generator.integers(0, vocabulary, int(starts[-1]), dtype=np.int32)
    np.save(out / "values.npy", values)


def forebay_ragged(rows: Rows, out: Path, **options: Any) -> None:
    """Shards of forebay with one ragged field, written as columns."""
    from forebay.formats.column import Block, VarColumn
    from forebay.formats.writer import ShardWriter

    with ShardWriter(out, {"ids": "int32[*]"}, **options) as writer:
        for at in range(0, len(rows), CHUNK):
            bounds = rows.starts[at : at + CHUNK + 1]
            values = np.array(rows.values[bounds[0] : bounds[-1]])
            column = VarColumn(values, bounds[:-1] - bounds[0], np.diff(bounds))
            writer.write_columns(Block(len(bounds) - 1, {"ids": column}, values.nbytes))


def forebay_fixed(rows: Rows, out: Path, length: int, dtype: str, **options: Any) -> None:
    """Shards of forebay with one field of a fixed number of tokens, written as columns."""
    from forebay.formats.column import Block, FixedColumn
    from forebay.formats.writer import ShardWriter

    step = max(1, CHUNK // length * 16)
    with ShardWriter(out, {"ids": f"{dtype}[{length}]"}, **options) as writer:
        table = rows.values.reshape(-1, length)
        for at in range(0, len(table), step):
            values = np.array(table[at : at + step]).astype(dtype, copy=False)
            block = Block(len(values), {"ids": FixedColumn(values)}, values.nbytes)
            writer.write_columns(block)


def arrow(rows: Rows, out: Path) -> None:
    """Hugging Face datasets, saved to disk: a list column."""
    import pyarrow as pa
    from datasets import Dataset

    Dataset(_table(rows, pa)).save_to_disk(str(out))


def lance(rows: Rows, out: Path) -> None:
    """One Lance dataset with a list column."""
    import lance as module
    import pyarrow as pa

    module.write_dataset(_table(rows, pa), str(out))


def _table(rows: Rows, pa: Any) -> Any:
    starts = pa.array(rows.starts.astype(np.int64))
    return pa.table({"ids": pa.LargeListArray.from_arrays(starts, pa.array(rows.values))})


def mds(rows: Iterator[NDArray[np.int32]], out: Path) -> None:
    """MosaicML's MDS, uncompressed, shards of 64 MB."""
    from streaming import MDSWriter

    columns = {"ids": "ndarray:int32"}
    with MDSWriter(out=str(out), columns=columns, size_limit=1 << 26) as writer:
        for row in rows:
            writer.write({"ids": row})


def array_record(rows: Iterator[NDArray[np.int32]], out: Path) -> None:
    """64 ArrayRecord files, one record a group: a read costs in proportion to a file's records."""
    from array_record.python import array_record_module as module

    out.mkdir()
    writers = [module.ArrayRecordWriter(str(out / f"{i:02d}"), "group_size:1") for i in range(64)]
    for i, row in enumerate(rows):
        writers[i % 64].write(row.tobytes())
    for writer in writers:
        writer.close()


def tar(rows: Iterator[NDArray[np.int32]], out: Path) -> None:
    """WebDataset: eight tar files, one member a row with the raw values."""
    out.mkdir()
    files = [tarfile.open(out / f"{i:03d}.tar", "w") for i in range(TARS)]  # noqa: SIM115
    for i, row in enumerate(rows):
        info = tarfile.TarInfo(f"{i:08d}.bin")
        info.size = row.nbytes
        files[i % TARS].addfile(info, io.BytesIO(row.tobytes()))
    for file in files:
        file.close()


class Ids:
    """Row i of a folder, for LitData's `optimize`, which sends the function to its workers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: Rows | None = None

    def __call__(self, i: int) -> Any:
        self._rows = self._rows or Rows(self._folder)
        return self._rows[i]


def litdata(folder: Path, count: int, out: Path) -> None:
    """LitData's chunks of 64 MB, one array a sample, written by `optimize` from one process."""
    from litdata import optimize

    optimize(
        fn=Ids(folder),
        inputs=list(range(count)),
        output_dir=str(out),
        chunk_bytes="64MB",
        num_workers=1,
    )
