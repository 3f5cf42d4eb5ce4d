"""Writes one Parquet shard: a block becomes a row group, each chunk checked from outside."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forebay.formats.errors import LimitExceeded, StorageError
from forebay.formats.parquet.arrays import TooLargeError, table_of
from forebay.formats.parquet.compress import compressions
from forebay.formats.parquet.footer import TAIL, Footer, footer_length, parse_footer
from forebay.formats.parquet.memory import block_memory
from forebay.formats.parquet.schema import arrow_schema
from forebay.formats.shard import ShardEntry
from forebay.kernels.crc import crc32c, crc32c_ranges

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.formats.codecs.codec import Codec
    from forebay.formats.column import Block
    from forebay.formats.record import Schema

PAGE_BYTES = 1 << 20


class ParquetWriter:
    """A `FormatWriter` of `<stem>.parquet` in `folder`; an existing file is replaced.

    Raises:
        SchemaError: a field that Parquet cannot hold.
        ValueError: a codec that Parquet cannot hold.
        StorageError: the file cannot be written.
    """

    def __init__(self, folder: Path, stem: str, schema: Schema, codec: Codec) -> None:
        self._level = _level(codec)
        self._schema = schema
        self._codec = codec
        self._arrow = arrow_schema(schema)
        self._path = folder / f"{stem}.parquet"
        self._sink = _HashingFile(self._path)
        self._writer: pq.ParquetWriter | None = None

    def write(self, block: Block) -> None:
        """Appends one block as one row group. Empty blocks are ignored.

        Raises:
            SchemaError: a column does not fit its field.
            LimitExceeded: a column has more than 1 GiB.
            StorageError: the file cannot be written.
        """
        if not block.rows:
            return
        try:
            table = table_of(self._schema, block, self._arrow)
        except TooLargeError as e:
            raise LimitExceeded(str(e), shard=self._path.name) from e
        try:
            if self._writer is None:
                self._writer = self._opened(table)
            self._writer.write_table(table, row_group_size=block.rows)
        except OSError as e:
            raise _failed(self._path, e) from e

    def close(self) -> ShardEntry:
        """Finishes the file, waits until it is on the disk, and describes it.

        Raises:
            StorageError: the file cannot be written.
        """
        try:
            if self._writer is None:
                self._writer = self._opened(self._arrow.empty_table())
            self._writer.close()
            self._sink.finish()
            return self._entry()
        except OSError as e:
            raise _failed(self._path, e) from e

    def abort(self) -> None:
        """Removes the file."""
        self._sink.discard()
        if self._writer is not None:
            self._writer.close()
        self._path.unlink(missing_ok=True)

    def _opened(self, first: pa.Table) -> pq.ParquetWriter:
        """The writer of a shard that begins with this table, which settles how it compresses."""
        compression: str | dict[str, str] = "none"
        levels = None
        if self._level is not None:
            compression = compressions(first, self._level)
            levels = {path: self._level for path, kind in compression.items() if kind == "zstd"}
        # Page sizes are looked at once a batch, and a page must stay far below 2 GiB.
        batch = 16 if any(f.kind in ("image", "bytes", "text") for f in self._schema) else 1024
        return pq.ParquetWriter(
            self._sink,
            self._arrow,
            compression=compression,
            compression_level=levels or None,
            use_dictionary=False,
            write_statistics=[f.name for f in self._schema if f.kind == "fixed" and not f.shape],
            data_page_version="1.0",
            data_page_size=PAGE_BYTES,
            write_batch_size=batch,
            write_page_checksum=True,
        )

    def _entry(self) -> ShardEntry:
        data = np.memmap(self._path, np.uint8, "r")
        size = len(data)
        length = footer_length(bytes(data[-TAIL:]), self._path.name, size)
        raw = bytes(data[size - length :])
        footer = parse_footer(memoryview(raw), self._path.name, size)
        groups = footer.metadata.groups
        return ShardEntry(
            file=self._path.name,
            format="parquet",
            codec=self._codec.config,
            records=footer.metadata.rows,
            bytes=size,
            sha256=self._sink.sha256,
            block_rows=np.array([g.rows for g in groups], np.int64),
            block_bytes=np.array([sum(c.length for c in g.chunks) for g in groups], np.int64),
            block_memory=block_memory(footer.metadata, footer.arrow),
            footer_bytes=length,
            footer_crc32c=crc32c(raw),
            chunk_crc32c=_chunk_crcs(footer, data),
        )


class _HashingFile:
    """The file that pyarrow writes to; it is hashed on the way."""

    closed = False

    def __init__(self, path: Path) -> None:
        try:
            self._file = open(path, "wb")  # noqa: SIM115 - closed by finish and discard
        except OSError as e:
            raise _failed(path, e) from e
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def write(self, data: bytes | memoryview) -> int:
        # After `discard`, pyarrow's writer still wants to write a footer somewhere.
        if not self._file.closed:
            self._digest.update(data)
            self._file.write(data)
        return len(data)

    def finish(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def discard(self) -> None:
        # Closing flushes what is buffered, which fails again on the full disk that led here.
        try:
            self._file.close()
        except OSError:
            self._file.raw.close()

    def flush(self) -> None:
        """Nothing: `finish` flushes."""

    def close(self) -> None:
        """Nothing: `finish` closes."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def _level(codec: Codec) -> int | None:
    """The level of zstd, None where nothing is to be compressed."""
    config: dict[str, Any] = json.loads(codec.config)
    if config.get("dictionary"):
        raise ValueError("Parquet takes no zstd dictionary: give a codec without one")
    if config["id"] == "zstd":
        return int(config["level"])
    if config["id"] == "none":
        return None
    raise ValueError(f"Parquet shards take the codecs none and zstd, got {config['id']!r}")


def _chunk_crcs(footer: Footer, data: np.memmap[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    chunks = [c for g in footer.metadata.groups for c in g.chunks]
    starts = np.array([c.start for c in chunks], np.int64)
    lengths = np.array([c.length for c in chunks], np.int64)
    return crc32c_ranges(data.data, starts, lengths)


def _failed(path: Path, e: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {e.strerror or e}")
