"""Tables kept in one Arrow file while they are packed, so that rows can be taken in any order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forebay.formats.errors import SourceError
from forebay.formats.sources.arrow import block_of_table, packable
from forebay.formats.sources.order import Order, even_cuts, stored_order
from forebay.formats.sources.source import Cut, CutRequest
from forebay.formats.storage.publish import sync_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from forebay.formats.column import Block
    from forebay.formats.record import Schema

STAGE = "stage.arrow"
_GATHER_BYTES = 4 << 20


def write_stage(folder: Path, arrow: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Path:
    """The staged file of these batches; one that is there already is taken as it is."""
    path = folder / STAGE
    if path.exists():
        return path
    temporary = folder / f".{STAGE}.tmp"
    with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, arrow) as writer:
        for batch in batches:
            if batch.num_rows:
                writer.write_batch(batch)
    sync_file(temporary)
    os.replace(temporary, path)
    return path


def cut_stage(path: Path, request: CutRequest, where: str) -> Cut:
    """Jobs of about `request.shard_bytes` each over a staged file.

    Raises:
        SourceError: the file has no rows, or columns that cannot be packed.
    """
    reader = _open(path)
    schema = packable(reader.schema, where)
    rows, nbytes = 0, 0
    for i in range(reader.num_record_batches):
        batch = reader.get_batch(i)
        rows += batch.num_rows
        nbytes += batch.nbytes
    if not rows:
        raise SourceError(f"{where} has no rows: there is nothing to pack")
    runs = even_cuts(rows, nbytes, request.shard_bytes)
    total = _Total(rows, nbytes, stored_order(rows, request.seed, request.stage), where)
    return Cut(schema, [StagedJob(path, schema, total, *run) for run in runs])


def _open(path: Path) -> pa.ipc.RecordBatchFileReader:
    return pa.ipc.open_file(pa.memory_map(str(path)))


@dataclass(frozen=True, slots=True)
class _Total:
    """Rows and bytes of the whole staged file, the order of its rows, and the input's name."""

    rows: int
    nbytes: int
    order: Order
    where: str


@dataclass(frozen=True, slots=True)
class StagedJob:
    """The rows at positions start to stop of the order."""

    path: Path
    schema: Schema
    total: _Total
    start: int
    stop: int

    @property
    def records(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def nbytes(self) -> int:
        """Bytes of these rows, were all alike."""
        return self.total.nbytes * self.records // self.total.rows

    def read(self) -> Iterator[Block]:
        """The rows as columns, a few MiB at a time; the file is mapped, not read whole."""
        reader = _open(self.path)
        counts = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        firsts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        mean = max(1, self.total.nbytes // self.total.rows)
        step = max(1, _GATHER_BYTES // mean)
        for at in range(self.start, self.stop, step):
            end = min(at + step, self.stop)
            if self.total.order.path is None:
                table = _slice(reader, firsts, at, end)
            else:
                table = _gather(reader, firsts, self.total.order.rows(at, end))
            yield block_of_table(self.schema, table, self.total.where)


def _slice(
    reader: pa.ipc.RecordBatchFileReader, firsts: NDArray[np.int64], start: int, stop: int
) -> pa.Table:
    first = int(np.searchsorted(firsts, start, side="right")) - 1
    last = int(np.searchsorted(firsts, stop, side="left"))
    parts = []
    for b in range(first, last):
        low = max(start, int(firsts[b])) - int(firsts[b])
        high = min(stop, int(firsts[b + 1])) - int(firsts[b])
        parts.append(reader.get_batch(b).slice(low, high - low))
    return pa.Table.from_batches(parts)


def _gather(
    reader: pa.ipc.RecordBatchFileReader, firsts: NDArray[np.int64], rows: NDArray[np.int64]
) -> pa.Table:
    """These rows in this order. Each batch is asked once, so that none is joined with another."""
    sorted_at = np.argsort(rows, kind="stable")
    ordered = rows[sorted_at]
    batches = np.searchsorted(firsts, ordered, side="right") - 1
    bounds = np.flatnonzero(np.diff(batches, prepend=-1, append=-1))
    parts = []
    for low, high in pairwise(bounds):
        b = int(batches[low])
        parts.append(reader.get_batch(b).take(pa.array(ordered[low:high] - firsts[b])))
    back = np.empty(len(rows), np.int64)
    back[sorted_at] = np.arange(len(rows))
    return pc.take(pa.Table.from_batches(parts), pa.array(back))
