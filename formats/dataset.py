"""A dataset of shards, opened: rows by number, blocks by number, and what each costs to read."""

from __future__ import annotations

import hashlib
import itertools
import operator
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.block_cache import BlockCache
from forebay.formats.block_memory import rounded
from forebay.formats.block_table import BlockTable
from forebay.formats.column import Block, row_at
from forebay.formats.errors import DatasetNotFound, ManifestError
from forebay.formats.filter.expression import both, parse
from forebay.formats.filter.kept import Kept, kept_rows
from forebay.formats.find import find
from forebay.formats.manifest import MANIFEST, Manifest
from forebay.formats.recordio.reader import RecordIOReader
from forebay.formats.verify import verify_dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from forebay.formats.foreign import Format
    from forebay.formats.opened import Opened
    from forebay.formats.record import Schema
    from forebay.formats.shard import ReadTally, ShardEntry
    from forebay.formats.shard_table import ShardTable
    from forebay.formats.verify_report import VerifyReport


_SPARE_BLOCKS = 32
"""Blocks' worth of memory that is kept for the next ones: about what the end of a window drops."""
_SPARE_SHARE = 4
"""They may take this part of the limit."""


def open_dataset(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    format: Format | None = None,
    generation: int | None = None,
) -> ShardDataset:
    """Opens a folder that forebay wrote, a folder of Parquet or .rec files, or one such file.

    Sizes of files are checked here (of the first 10,000 shards), contents when they are read.

    Args:
        path: on a local or mounted file system.
        columns: fields to read; a sample is then a tuple in this order, else a dict of all.
        format: "parquet" or "recordio", to choose in a foreign folder that holds both.
        generation: opens the dataset as it was at this generation, counted from 1.

    Raises:
        DatasetNotFound: nothing is there that can be opened.
        UnfinishedDataset: a writer has not finished, or was stopped.
        ManifestError: forebay.json or the shard table is damaged, or disagrees with the files.
        NewerFormatError: a later version of forebay wrote it.
        SchemaError: a column is unknown, or the shards of a foreign folder differ in schema.
        ShardError: a foreign shard cannot be described.
    """
    text = os.fspath(path)
    if "://" in text:
        raise DatasetNotFound(f"{text} is not a local path: copy or mount the dataset first")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got a string: columns=[{columns!r}]")
    # Absolute, since programs change their folder after they have opened a dataset.
    opened = find(Path(text).absolute(), format, generation)
    return ShardDataset(opened, tuple(columns) if columns is not None else None)


class ShardDataset:
    """A map-style dataset of `len(self)` samples; works under any loader that takes one.

    Safe to read from several threads and after fork; picklable. It holds no open file.

    Args:
        opened: what `find` gave.
        columns: names of the fields to read, or None for all.
        kept: the rows of a filter, or None for all.

    Attributes:
        schema: of the columns that are read, in order.
        columns: as given; None when all are read and samples are dicts.
        fingerprint: 64 hex digits, equal where the data are; foreign datasets are told apart by
            names, sizes, blocks and the first and last 4 KiB of each file.
        name: the path that was opened.
        generation: newest generation in view; 0 for foreign datasets.
        table: the shards.
        blocks: the blocks of all shards; of a filtered dataset those that have a row of it.
        filtered: the filter, or None.
        stored_fingerprint: of the dataset without its filter.
        record_readable: whether single rows can be read without their block.
        foreign: whether others wrote it, so that not every byte can be checked.
    """

    def __init__(
        self, opened: Opened, columns: tuple[str, ...] | None = None, kept: Kept | None = None
    ) -> None:
        if columns is not None and (not columns or len(set(columns)) != len(columns)):
            raise ValueError(f"columns must name at least one field, none twice; got {columns!r}")
        self._reader = opened.reader
        self.schema: Schema = opened.schema.select(columns)
        self.all_fields: Schema = opened.schema
        self.columns = columns
        self._kept = kept
        self.filtered = kept.text if kept else None
        self.stored_fingerprint = opened.fingerprint
        self.fingerprint = _fingerprint(opened.fingerprint, self.filtered)
        self.name = opened.name
        self.manifest: Manifest | None = opened.manifest
        self.generation = opened.manifest.last.number if opened.manifest else 0
        self.foreign = opened.manifest is None
        self.record_readable = opened.reader.record_readable
        self.table: ShardTable = opened.table
        blocks = BlockTable.of(opened.table)
        self.blocks = blocks.only(kept.mask()) if kept else blocks
        self._cache = BlockCache()
        # (shards + 1,) the first row of each, and all rows.
        self._shard_rows = np.concatenate([[0], np.cumsum(opened.table.numbers("records"))])
        self._opened = opened

    def __reduce__(self) -> tuple[Callable[..., ShardDataset], tuple[Any, ...]]:
        if self.foreign:
            return ShardDataset, (self._opened, self.columns, self._kept)
        # The table is mapped again where the copy lives, not carried through the pickle. A filter's
        # rows are: one bit each, where finding them reads the fields again.
        known = (self.generation, self.stored_fingerprint, self._kept)
        return _reopened, (self.name, self.columns, *known)

    def __repr__(self) -> str:
        fields = ", ".join(f"{f.name}: {f.spec}" for f in self.schema)
        kind = "foreign " if self.foreign else ""
        form = self.table.entry(0).format if len(self.table) else "empty"
        return (
            f"<ShardDataset {self.name!r}: {len(self)} samples in {len(self.blocks)} blocks of "
            f"{len(self.table)} {kind}{form} shards; {fields}"
            f"{f'; {self.filtered}' if self.filtered else ''}>"
        )

    def __len__(self) -> int:
        return self.blocks.total_rows

    @property
    def stored(self) -> int:
        """Samples without the filter."""
        return int(self._shard_rows[-1])

    @property
    def sample_memory(self) -> int:
        """Bytes that a stored sample takes in memory, all fields, on average."""
        return int(self.table.flat("block_memory").sum()) // max(1, self.stored)

    def __getitem__(self, index: int) -> Any:
        """Sample `index`, from the end where it is negative; IndexError outside.

        Raises:
            ShardError: this record is damaged, or its block or shard as a whole.
            StorageError: the store failed.
        """
        block, inside = self.blocks.locate(np.array([self._row(index)], np.int64))
        data, at = self._rows(int(block[0]), inside)
        return self._sample(data, int(at[0]))

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """The samples of these indices, in their order; a block is read at most once.

        Raises:
            IndexError: an index is outside.
            ShardError: one of these records is damaged, or its block or shard as a whole.
            StorageError: the store failed.
        """
        rows = np.array([self._row(i) for i in indices], np.int64)
        block, inside = self.blocks.locate(rows)
        if self.record_readable:
            data = self.read_rows(self.blocks.stored(block, inside))
            return [self._sample(data, i) for i in range(len(rows))]
        order = np.argsort(block, kind="stable")
        bounds = np.flatnonzero(np.diff(block[order], prepend=-1, append=-1))
        samples: list[Any] = [None] * len(rows)
        for start, stop in itertools.pairwise(bounds):
            places = order[start:stop]
            data, at = self._rows(int(block[places[0]]), inside[places])
            for place, row in zip(places.tolist(), at.tolist(), strict=True):
                samples[place] = self._sample(data, row)
        return samples

    def shard_of(self, block: int) -> tuple[ShardEntry, int]:
        """(shard, index in it) of a block of the dataset."""
        return self.table.entry(int(self.blocks.shard[block])), int(self.blocks.in_shard[block])

    def cost(self, block: int, rows: NDArray[np.int64] | None = None) -> tuple[int, int]:
        """(bytes at rest, bytes in memory afterwards) of `read` with the same arguments.

        While it runs, `read` holds at most their sum.
        """
        shard, inside = self.shard_of(block)
        return self._reader.cost(shard, inside, self.schema, rows)

    def read(
        self,
        block: int,
        rows: NDArray[np.int64] | None = None,
        tally: ReadTally | None = None,
    ) -> Block:
        """The columns of one block, checked; never from a cache. The caller owns it.

        Records that are damaged by themselves are listed in the block's `damaged`.

        Args:
            block: number of the block in the dataset.
            rows: only these, counted from the block's first; only where `record_readable`.
            tally: what the read cost is added to it.

        Raises:
            ShardError: the block or its shard is damaged as a whole; names shard and block.
            StorageError: the store failed.
        """
        shard, inside = self.shard_of(block)
        return self._reader.read(shard, inside, self.schema, rows, tally)

    def read_rows(self, rows: NDArray[np.int64], tally: ReadTally | None = None) -> Block:
        """The columns of rows from anywhere in the dataset, in their order, as one block.

        One request for each shard and range of neighbours, and no Python for each row: for rows
        that lie one here and one there it is many times as fast as `read` of each block. Only where
        `record_readable`; what is said of `read` holds.

        Args:
            rows: (n,) numbers among all that are stored; the same may be asked for twice.

        Raises:
            TypeError: single rows of this format cannot be read.
            IndexError: a row is outside.
        """
        wanted, back = self._wanted(rows)
        return self._record_reader().read_rows(wanted, back, self.schema, tally)

    def rows_cost(self, rows: NDArray[np.int64]) -> tuple[int, int]:
        """(bytes at rest, bytes in memory afterwards) of `read_rows`, at most."""
        wanted, _ = self._wanted(rows)
        return self._record_reader().rows_cost(wanted, len(rows), self.schema)

    def overhead(self, limit: int) -> int:
        """Bounds what the reader keeps besides blocks; returns the bound, in bytes.

        That is footers or indexes, of which one is always kept, also where it is larger than
        `limit` bytes; and memory of blocks that were dropped, for the next ones, where a small part
        of the limit holds some. No limit, 1 << 62, asks what is needed, which the latter is not.
        """
        kept = self._reader.overhead(self.table.bytes_beside(), limit)
        if limit >= 1 << 62:
            return kept
        largest = rounded(int(self.blocks.memory.max(initial=0)))
        room = max(0, min(limit // _SPARE_SHARE, limit - kept))
        blocks = min(_SPARE_BLOCKS, room // max(1, largest))
        self._reader.memory.bound(blocks * largest)
        return kept + blocks * largest

    def filter(self, expression: str) -> ShardDataset:
        """The samples for which an expression over stored fields is true, such as
        `label < 10 and width >= 224`, as a dataset of its own, in the same order.

        The fields that it names need not be among the columns. They are read here and now, block by
        block: of Parquet their columns alone, of RecordIO whole records. Which rows are kept takes
        one to four bytes for each of them. Language: `forebay.formats.filter.expression`.

        Raises:
            FilterError: the expression is none, or does not fit the fields; says where.
            ShardError: a record is damaged, so that nobody can know whether it is kept.
            StorageError: the store failed.
        """
        new = parse(expression, self.all_fields)
        stored = ShardDataset(self._opened, new.fields or self.all_fields.names[:1])
        asked = np.ones(len(stored), np.bool_) if self._kept is None else self._kept.mask()
        kept = kept_rows(new, stored, asked)
        text = both(self.filtered, new.text) if self.filtered else new.text
        return ShardDataset(self._opened, self.columns, Kept.of(text, kept))

    def verify(
        self,
        workers: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> VerifyReport:
        """Reads and checks every byte of the dataset on disk; see `verify_dataset`."""
        return verify_dataset(self.name, workers, progress)

    def _row(self, index: int) -> int:
        row = operator.index(index)
        if row < 0:
            row += len(self)
        if not 0 <= row < len(self):
            raise IndexError(f"index {index} is out of range of {len(self)} samples in {self.name}")
        return row

    def _sample(self, block: Block, row: int) -> Any:
        if row in block.damaged:
            raise block.damaged[row]
        values = row_at(self.schema, block, row)
        if self.columns is not None:
            return values
        return dict(zip(self.schema.names, values, strict=True))

    def _record_reader(self) -> RecordIOReader:
        if not isinstance(self._reader, RecordIOReader):
            raise TypeError(
                f"{self.name}: single rows of this format cannot be read; read whole blocks"
            )
        return self._reader

    def _wanted(
        self, rows: NDArray[np.int64]
    ) -> tuple[list[tuple[ShardEntry, NDArray[np.int64]]], NDArray[np.int64] | None]:
        """Which records of which shards, ascending, and the place of each row among them."""
        rows = np.ascontiguousarray(rows, np.int64)
        if not len(rows):
            return [], None
        back = None
        if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
            rows, back = np.unique(rows, return_inverse=True)
        bounds = self._shard_rows
        if len(rows) and not 0 <= int(rows[0]) <= int(rows[-1]) < self.stored:
            wrong = rows[0] if rows[0] < 0 else rows[-1]
            raise IndexError(f"row {wrong} is out of range of {self.stored} rows in {self.name}")
        shard = np.searchsorted(bounds, rows, "right") - 1
        begins = np.flatnonzero(np.diff(shard, prepend=-1))
        wanted = [
            (self.table.entry(i), part - bounds[i])
            for i, part in zip(shard[begins].tolist(), np.split(rows, begins[1:]), strict=True)
        ]
        return wanted, back

    def _rows(self, block: int, rows: NDArray[np.int64]) -> tuple[Block, NDArray[np.int64]]:
        """A block that holds these rows of a block, and where it holds each."""
        if self.record_readable:
            wanted, back = np.unique(rows, return_inverse=True)
            return self.read(block, wanted), back
        return self._cache.get(block, lambda: self.read(block)), rows


def _fingerprint(stored: str, filtered: str | None) -> str:
    """Of a dataset and its filter. Changes with the language of filters, never by itself."""
    if filtered is None:
        return stored
    return hashlib.sha256(f"forebay-filter-1\0{stored}\0{filtered}".encode()).hexdigest()


def _reopened(
    name: str,
    columns: tuple[str, ...] | None,
    generation: int,
    fingerprint: str,
    kept: Kept | None,
) -> ShardDataset:
    dataset = open_dataset(name, columns, generation=generation)
    if dataset.fingerprint != fingerprint:
        raise ManifestError(
            f"{name}/{MANIFEST} is of another dataset than when this copy was made "
            f"({dataset.fingerprint[:12]} instead of {fingerprint[:12]}): open it again"
        )
    return ShardDataset(dataset._opened, columns, kept) if kept else dataset
