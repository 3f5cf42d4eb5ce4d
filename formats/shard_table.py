"""The shard table: one row a shard, kept as an Arrow IPC file that is mapped, not parsed.

See SPEC.md beside this file for every column. A generation's table holds the shards that it added;
`ShardTable.join` lays tables end to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forebay.formats.arrow_numbers import chunked_numbers, numbers
from forebay.formats.errors import ManifestError, NewerFormatError
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

VERSION = 1
VERSION_KEY = b"forebay.table"
_ENTRIES_KEPT = 4096
_LISTS = ("block_rows", "block_bytes", "block_memory")
_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("format", pa.string(), nullable=False),
        pa.field("codec", pa.string(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("sha256", pa.binary(32)),
        *(
            pa.field(name, pa.list_(pa.field("item", pa.int64(), nullable=False)), nullable=False)
            for name in _LISTS
        ),
        pa.field("footer_bytes", pa.int64(), nullable=False),
        pa.field("footer_crc32c", pa.uint32(), nullable=False),
        pa.field(
            "chunk_crc32c",
            pa.list_(pa.field("item", pa.uint32(), nullable=False)),
            nullable=False,
        ),
        pa.field("index_file", pa.string()),
        pa.field("index_bytes", pa.int64()),
        pa.field("index_crc32c", pa.uint32()),
        pa.field("key_index_file", pa.string()),
        pa.field("key_index_bytes", pa.int64()),
        pa.field("key_index_crc32c", pa.uint32()),
        pa.field("generation", pa.int32(), nullable=False),
    ],
    metadata={VERSION_KEY: str(VERSION).encode()},
)


class ShardTable:
    """The shards of a dataset, in order; rows become `ShardEntry` when asked for.

    Immutable, safe to read from several threads. Picklable, by value.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._kept: dict[int, ShardEntry] = {}

    @staticmethod
    def of(entries: Sequence[ShardEntry]) -> ShardTable:
        """A table in memory of these shards."""
        columns = {
            name: [getattr(e, name) for e in entries]
            for name in _SCHEMA.names
            if not name.startswith(("index_", "key_index_", "sha256"))
        }
        columns["sha256"] = [bytes.fromhex(e.sha256) if e.sha256 else None for e in entries]
        for beside in ("index", "key_index"):
            checks: list[FileCheck | None] = [getattr(e, beside) for e in entries]
            for part in ("file", "bytes", "crc32c"):
                columns[f"{beside}_{part}"] = [c and getattr(c, part) for c in checks]
        return ShardTable(pa.table(columns, schema=_SCHEMA))

    @staticmethod
    def open(path: str | os.PathLike[str], check: FileCheck | None = None) -> ShardTable:
        """Maps a table file; no descriptor stays open.

        Raises:
            ManifestError: it is missing, not what `check` says, or not a shard table.
            NewerFormatError: a later version wrote it.
        """
        try:
            with pa.memory_map(str(path)) as file:
                buffer = file.read_buffer()
        except OSError as e:
            raise ManifestError(f"cannot read the shard table {path}: {e}") from e
        return ShardTable.parse(buffer, str(path), check)

    @staticmethod
    def parse(buffer: pa.Buffer, name: str, check: FileCheck | None = None) -> ShardTable:
        """The table in a buffer, which it keeps alive; raises as `open` does."""
        if check is not None:
            _compare(buffer, name, check)
        try:
            table = pa.ipc.open_file(buffer).read_all()
            _check_version(table.schema, name)
            if not table.schema.equals(_SCHEMA):
                raise ManifestError(f"shard table {name} has not the columns of version {VERSION}")
            table.validate(full=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
            raise ManifestError(f"shard table {name} is not an Arrow file: {e}") from e
        result = ShardTable(table)
        result._check_rows(name)
        return result

    @staticmethod
    def join(tables: Iterable[ShardTable]) -> ShardTable:
        """The shards of all these tables, in order, without copying them."""
        parts = [t._table for t in tables]
        return ShardTable(pa.concat_tables(parts) if parts else _SCHEMA.empty_table())

    def to_bytes(self) -> bytes:
        """The table as a file: the same shards give the same bytes."""
        sink = pa.BufferOutputStream()
        table = self._table.combine_chunks().replace_schema_metadata(_SCHEMA.metadata)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardTable, (self._table,)

    def entry(self, i: int) -> ShardEntry:
        """Shard i, counted from 0."""
        kept = self._kept.get(i)
        if kept is None:
            kept = self._entry(i)
            if len(self._kept) >= _ENTRIES_KEPT:
                self._kept.clear()
            self._kept[i] = kept
        return kept

    def entries(self) -> Iterable[ShardEntry]:
        """All shards, in order, one at a time."""
        return (self._entry(i) for i in range(len(self)))

    def files(self) -> set[str]:
        """Names of all files that the table speaks of."""
        names: set[str] = set()
        for column in ("file", "index_file", "key_index_file"):
            names.update(n for n in self._table[column].to_pylist() if n is not None)
        return names

    def names(self) -> list[str]:
        """Names of the shards' own files, in order."""
        return [str(name) for name in self._table["file"].to_pylist()]

    def numbers(self, column: str) -> NDArray[Any]:
        """(shards,) values of a column without lists: records, bytes, generation."""
        return chunked_numbers(self._table[column])

    def bytes_beside(self) -> int:
        """Bytes at rest of all footers and indexes, what other readers use apart."""
        columns = ("footer_bytes", "index_bytes")
        return sum(int(pc.sum(self._table[c]).as_py() or 0) for c in columns)

    def blocks_per_shard(self) -> NDArray[np.int64]:
        """(shards,) number of blocks of each shard."""
        return self._lengths("block_rows")

    def flat(self, column: str) -> NDArray[Any]:
        """(blocks of all shards,) values of block_rows, block_bytes or block_memory."""
        chunks = [numbers(c.flatten()) for c in self._table[column].chunks]
        if len(chunks) == 1:
            return chunks[0]
        return np.concatenate(chunks) if chunks else np.empty(0, np.int64)

    def _lengths(self, column: str) -> NDArray[np.int64]:
        chunks = [np.diff(numbers(c.offsets)) for c in self._table[column].chunks]
        return np.concatenate(chunks).astype(np.int64) if chunks else np.empty(0, np.int64)

    def _entry(self, i: int) -> ShardEntry:
        if not 0 <= i < len(self):
            raise IndexError(f"shard {i} of {len(self)}")
        row: dict[str, Any] = {}
        for name in _SCHEMA.names:
            value = self._table[name][i]
            listed = name in _LISTS or name == "chunk_crc32c"
            row[name] = numbers(value.values) if listed else value.as_py()
        row["sha256"] = row["sha256"].hex() if row["sha256"] else ""
        for beside in ("index", "key_index"):
            parts = [row.pop(f"{beside}_{part}") for part in ("file", "bytes", "crc32c")]
            row[beside] = FileCheck(*parts) if parts[0] is not None else None
        return ShardEntry(**row)

    def _check_rows(self, name: str) -> None:
        """Refuses numbers that no writer writes, so that nothing later allocates by them."""
        blocks = self._lengths("block_rows")
        stops = np.cumsum(blocks)
        for column in _LISTS:
            if not np.array_equal(self._lengths(column), blocks):
                raise ManifestError(f"shard table {name}: {column} has not one value a block")
            if np.any(self.flat(column) < 0):
                raise ManifestError(f"shard table {name}: {column} holds a negative number")
        totals = np.concatenate([[0], np.cumsum(self.flat("block_rows"))])
        sums = totals[stops] - totals[stops - blocks]
        wrong = np.flatnonzero(sums != self.numbers("records"))
        if len(wrong):
            i = int(wrong[0])
            raise ManifestError(
                f"shard table {name}: shard {self._table['file'][i]} has {sums[i]} rows in its "
                f"blocks and {self.numbers('records')[i]} records"
            )


def _check_version(schema: pa.Schema, name: str) -> None:
    text = (schema.metadata or {}).get(VERSION_KEY, b"")
    if not text.isdigit() or len(text) > 9:
        raise ManifestError(f"{name} is not a shard table: no {VERSION_KEY.decode()} version")
    if int(text) > VERSION:
        raise NewerFormatError(
            f"shard table {name} has version {int(text)}, this forebay reads up to {VERSION}: "
            "upgrade forebay"
        )


def _compare(buffer: pa.Buffer, name: str, check: FileCheck) -> None:
    if buffer.size != check.bytes:
        raise ManifestError(
            f"shard table {name}: have {buffer.size} of {check.bytes} bytes; "
            "restore it or write the dataset again"
        )
    found = crc32c(buffer)
    if found != check.crc32c:
        raise ManifestError(
            f"shard table {name} is damaged: CRC-32C {found:08x}, the manifest says "
            f"{check.crc32c:08x}; restore it or write the dataset again"
        )
