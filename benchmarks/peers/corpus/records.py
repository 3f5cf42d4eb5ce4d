"""Records: a million samples of 16 to 128 int32 tokens, drawn evenly; 288 MB.

Formats whose writers or readers take tens of microseconds a sample hold the first FEWER of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import arrays
from .make import Format

SAMPLES = 1_000_000
FEWER = 200_000
LENGTHS = (16, 128)
VOCABULARY = 50_257


def columns(folder: Path, out: Path) -> None:
    """values.npy and starts.npy, from which the other formats are made."""
    low, high = LENGTHS
    lengths = np.random.default_rng(0).integers(low, high + 1, SAMPLES)
    arrays.write(out, lengths, VOCABULARY)


def _rows(folder: Path) -> arrays.Rows:
    return arrays.Rows(folder / "columns")


def recordio(folder: Path, out: Path) -> None:
    """RecordIO of forebay, uncompressed."""
    arrays.forebay_ragged(_rows(folder), out, format="recordio", codec="none")


def parquet(folder: Path, out: Path) -> None:
    """Parquet of forebay, zstd."""
    arrays.forebay_ragged(_rows(folder), out, format="parquet")


def arrow(folder: Path, out: Path) -> None:
    """Hugging Face datasets on disk."""
    arrays.arrow(_rows(folder), out)


def lance(folder: Path, out: Path) -> None:
    """One Lance dataset."""
    arrays.lance(_rows(folder), out)


def mds(folder: Path, out: Path) -> None:
    """MDS of MosaicML, uncompressed."""
    arrays.mds(_rows(folder).head(FEWER), out)


def array_record(folder: Path, out: Path) -> None:
    """64 files of ArrayRecord, a record a group."""
    arrays.array_record(_rows(folder).head(FEWER), out)


def tar(folder: Path, out: Path) -> None:
    """WebDataset: eight tar files, a member a sample."""
    arrays.tar(_rows(folder).head(FEWER), out)


def litdata(folder: Path, out: Path) -> None:
    """LitData's chunks of 64 MB."""
    arrays.litdata(folder / "columns", FEWER, out)


_FROM = ("columns",)
FORMATS = {
    "columns": Format(columns),
    "recordio": Format(recordio, needs=_FROM),
    "parquet": Format(parquet, needs=_FROM),
    "arrow": Format(arrow, "datasets", _FROM),
    "lance": Format(lance, "lance", _FROM),
    "mds": Format(mds, "mosaic", _FROM, FEWER / SAMPLES),
    "array-record": Format(array_record, "grain", _FROM, FEWER / SAMPLES),
    "tar": Format(tar, "webdataset", _FROM, FEWER / SAMPLES),
    "litdata": Format(litdata, "litdata", _FROM, FEWER / SAMPLES),
}
