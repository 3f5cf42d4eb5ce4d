"""Tokens: 122,070 blocks of 2,048 int32, a gigabyte, evenly drawn below 50,257.

Half of each value's bits are noise, so zstd halves the int32 form and gains nothing on uint16.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import arrays
from .make import Format

LENGTH = 2_048
BLOCKS = 122_070
FEWER = 24_414
VOCABULARY = 50_257


def columns(folder: Path, out: Path) -> None:
    """values.npy and starts.npy, from which the other formats are made."""
    arrays.write(out, np.full(BLOCKS, LENGTH), VOCABULARY)


def _rows(folder: Path) -> arrays.Rows:
    return arrays.Rows(folder / "columns")


def recordio(folder: Path, out: Path) -> None:
    """RecordIO of forebay, int32, uncompressed."""
    arrays.forebay_fixed(_rows(folder), out, LENGTH, "int32", format="recordio", codec="none")


def recordio_zstd(folder: Path, out: Path) -> None:
    """RecordIO of forebay, int32, zstd of level 3."""
    arrays.forebay_fixed(_rows(folder), out, LENGTH, "int32", format="recordio", codec="zstd")


def recordio_uint16(folder: Path, out: Path) -> None:
    """RecordIO of forebay in the narrowest dtype, uint16, uncompressed."""
    arrays.forebay_fixed(_rows(folder), out, LENGTH, "uint16", format="recordio", codec="none")


def arrow(folder: Path, out: Path) -> None:
    """Hugging Face datasets on disk."""
    arrays.arrow(_rows(folder), out)


def lance(folder: Path, out: Path) -> None:
    """One Lance dataset."""
    arrays.lance(_rows(folder), out)


def mds(folder: Path, out: Path) -> None:
    """MDS of MosaicML, uncompressed."""
    arrays.mds(_rows(folder).head(FEWER), out)


def litdata(folder: Path, out: Path) -> None:
    """LitData's chunks of 64 MB."""
    arrays.litdata(folder / "columns", FEWER, out)


_FROM = ("columns",)
FORMATS = {
    "columns": Format(columns),
    "recordio": Format(recordio, needs=_FROM),
    "recordio-zstd": Format(recordio_zstd, needs=_FROM),
    "recordio-uint16": Format(recordio_uint16, needs=_FROM),
    "arrow": Format(arrow, "datasets", _FROM),
    "lance": Format(lance, "lance", _FROM),
    "mds": Format(mds, "mosaic", _FROM, FEWER / BLOCKS),
    "litdata": Format(litdata, "litdata", _FROM, FEWER / BLOCKS),
}
