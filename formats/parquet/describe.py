"""What a Parquet file that has no row in a shard table would have there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.codecs.none import NoCodec
from forebay.formats.errors import TruncatedShard
from forebay.formats.parquet.footer import MAGIC, TAIL, footer_length, parse_footer
from forebay.formats.parquet.memory import block_memory
from forebay.formats.shard import ShardEntry
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from forebay.formats.record import Schema
    from forebay.formats.storage.source import ByteSource

# One read of this size holds the footers of most files.
_FIRST_READ = 1 << 16


def describe(source: ByteSource, key: str) -> tuple[Schema, ShardEntry]:
    """The schema and table row of a Parquet file that others wrote, from its footer alone.

    The row's `sha256` is empty and it has no chunk CRCs, so its reader counts as unchecked the
    rows of pages without a checksum of their own.

    Raises:
        TruncatedShard: the file is cut short: has no footer, or less data than the footer says.
        MalformedShard: not Parquet, or damaged.
        EncryptedShard: the footer or a column is encrypted.
        StorageError: the store failed.
    """
    size = source.size(key)
    raw = _footer_bytes(source, key, size)
    footer = parse_footer(memoryview(raw), key, size)
    groups = footer.metadata.groups
    entry = ShardEntry(
        file=key,
        format="parquet",
        codec=NoCodec().config,
        records=footer.metadata.rows,
        bytes=size,
        sha256="",
        block_rows=np.array([g.rows for g in groups], np.int64),
        block_bytes=np.array([sum(c.length for c in g.chunks) for g in groups], np.int64),
        block_memory=block_memory(footer.metadata, footer.arrow),
        footer_bytes=len(raw),
        footer_crc32c=crc32c(raw),
    )
    return footer.schema, entry


def _footer_bytes(source: ByteSource, key: str, size: int) -> bytearray:
    if size < len(MAGIC) + TAIL:
        raise TruncatedShard(
            f"truncated: have {size} of at least {len(MAGIC) + TAIL} bytes; restore the file "
            "from its source",
            shard=key,
        )
    last = bytearray(min(size, _FIRST_READ))
    source.read_into(key, [size - len(last)], [memoryview(last)])
    if last[-4:] not in (MAGIC, b"PARE"):
        first = bytearray(len(MAGIC))
        source.read_into(key, [0], [memoryview(first)])
        if first == MAGIC:
            raise TruncatedShard(
                f"truncated: have {size} bytes, which begin as Parquet, but no footer at their "
                "end, which would say how many there were; restore the file from its source",
                shard=key,
                offset=size,
            )
    length = footer_length(bytes(last[-TAIL:]), key, size)
    if length <= len(last):
        return last[-length:]
    whole = bytearray(length)
    source.read_into(key, [size - length], [memoryview(whole)])
    return whole
