"""A shard's footer: fetched, checked, parsed and compared with the file, once per shard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forebay.formats.errors import (
    ChecksumMismatch,
    EncryptedShard,
    LimitExceeded,
    MalformedShard,
    SchemaError,
    TruncatedShard,
)
from forebay.formats.parquet.faults import ENCRYPTED, decoding
from forebay.formats.parquet.metadata import EncryptedError, FileMetadata, read_metadata
from forebay.formats.parquet.schema import schema_of, unreadable
from forebay.formats.parquet.thrift import ThriftError
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from forebay.formats.parquet.plan import ColumnPlan
    from forebay.formats.record import Schema
    from forebay.formats.shard import ReadTally, ShardEntry
    from forebay.formats.storage.source import ByteSource

MAGIC = b"PAR1"
MAGIC_ENCRYPTED = b"PARE"
TAIL = 8
MAX_FOOTER = 1 << 28
_AGAIN = "restore the file from its source or write it again"

PARSED = 32
"""Bytes of memory that a footer takes for each of its own once it is parsed, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Footer:
    """A parsed footer.

    Args:
        metadata: where the chunks lie, validated against the file's size.
        decoder: the same for the decoder, a `pyarrow.parquet.FileMetaData`.
        arrow: the columns' Arrow types, as the decoder will give them.
        schema: the nearest schema of ours.
        nbytes: an estimate of the memory that all this holds.
        plans: what reading some columns takes, by their names, kept by the reader.
    """

    metadata: FileMetadata
    decoder: Any
    arrow: pa.Schema
    schema: Schema
    nbytes: int
    plans: dict[tuple[str, ...], ColumnPlan] = field(default_factory=dict)


def read_footer(source: ByteSource, entry: ShardEntry, tally: ReadTally | None = None) -> Footer:
    """The footer of a shard that the table lists, checked against the CRC-32C there.

    Raises:
        ChecksumMismatch: the bytes are not those that the table lists.
        ShardError: the bytes are truncated, malformed or encrypted.
        StorageError: the store failed.
    """
    if not TAIL <= entry.footer_bytes <= min(entry.bytes, MAX_FOOTER):
        raise MalformedShard(
            f"the shard table gives a footer of {entry.footer_bytes} bytes in a file of "
            f"{entry.bytes}; write the dataset again",
            shard=entry.file,
        )
    raw = np.empty(entry.footer_bytes, np.uint8)
    offset = entry.bytes - entry.footer_bytes
    source.read_into(entry.file, [offset], [raw.data])
    if tally is not None:
        tally.bytes += len(raw)
        tally.requests += 1
    found = crc32c(raw.data)
    if found != entry.footer_crc32c:
        raise ChecksumMismatch(
            f"the footer's CRC-32C is {found:08x}, recorded is {entry.footer_crc32c:08x}; "
            + ("open the dataset again" if entry.foreign else _AGAIN),
            shard=entry.file,
            offset=offset,
        )
    return parse_footer(raw.data, entry.file, entry.bytes)


def footer_length(tail: bytes, key: str, size: int) -> int:
    """Bytes of the footer, by the file's last 8 bytes.

    Raises:
        ShardError: they are not the end of a Parquet file.
    """
    if tail[4:] not in (MAGIC, MAGIC_ENCRYPTED):
        raise MalformedShard(
            f"the file ends in {tail[4:]!r} where a Parquet file has {MAGIC!r}; {_AGAIN}",
            shard=key,
            offset=size - 4,
        )
    length = int.from_bytes(tail[:4], "little") + TAIL
    if length > size - len(MAGIC):
        raise MalformedShard(
            f"a footer of {length} bytes in a file of {size}; {_AGAIN}", shard=key, offset=size - 8
        )
    if length > MAX_FOOTER:
        raise LimitExceeded(
            f"a footer of {length} bytes, more than the {MAX_FOOTER} that are read; "
            "write the file again with fewer, larger row groups",
            shard=key,
            offset=size - 8,
        )
    return length


def parse_footer(raw: memoryview, key: str, size: int) -> Footer:
    """The footer of which these are the bytes, in a file of `size` bytes.

    Raises:
        TruncatedShard: a column chunk lies beyond the file's end.
        MalformedShard: the bytes are no footer, or contradict themselves or the file.
        EncryptedShard: the footer or a column is encrypted.
    """
    tail = bytes(raw[-TAIL:])
    if footer_length(tail, key, size) != len(raw):
        raise MalformedShard(
            f"a footer of {len(raw)} bytes says that it has {footer_length(tail, key, size)}; "
            + _AGAIN,
            shard=key,
            offset=size - TAIL,
        )
    if tail[4:] == MAGIC_ENCRYPTED:
        raise EncryptedShard(ENCRYPTED.format(what="the footer is encrypted"), shard=key)
    start = size - len(raw)
    try:
        metadata = read_metadata(raw[:-TAIL])
    except EncryptedError as e:
        raise EncryptedShard(ENCRYPTED.format(what=str(e)), shard=key) from e
    except ThriftError as e:
        raise MalformedShard(
            f"the footer cannot be read: {e}; {_AGAIN}", shard=key, offset=start + e.at
        ) from e
    _check_ranges(metadata, key, size, start)
    with decoding("the footer", shard=key):
        file = pa.BufferReader(pa.py_buffer(MAGIC + bytes(raw)))
        # A container's items take a byte each at least, so more than the footer has are a lie.
        parquet = pq.ParquetFile(
            file,
            pre_buffer=False,
            thrift_string_size_limit=len(raw),
            thrift_container_size_limit=len(raw),
        )
        decoder, arrow = parquet.metadata, parquet.schema_arrow
    if why := unreadable(arrow):
        raise MalformedShard(f"{why}, which cannot be read; leave it out", shard=key)
    try:
        schema = schema_of(arrow)
    except SchemaError as e:
        raise MalformedShard(f"{e}; write the file again", shard=key) from e
    return Footer(metadata, decoder, arrow, schema, PARSED * len(raw))


def _check_ranges(metadata: FileMetadata, key: str, size: int, footer: int) -> None:
    for i, group in enumerate(metadata.groups):
        # Chunks of no rows are not read, and some writers give them no place.
        for chunk in group.chunks if group.rows else ():
            stop = chunk.start + chunk.length
            if stop > size:
                raise TruncatedShard(
                    f"truncated: have {size} of at least {stop} bytes; {_AGAIN}",
                    shard=key,
                    block=i,
                    offset=chunk.start,
                )
            if chunk.start < len(MAGIC) or stop > footer:
                raise MalformedShard(
                    f"a column chunk of {chunk.length} bytes at {chunk.start} lies outside the "
                    f"data, bytes {len(MAGIC)} to {footer}; {_AGAIN}",
                    shard=key,
                    block=i,
                    offset=chunk.start,
                )
