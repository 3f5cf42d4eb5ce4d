"""Parsed footers of the shards last read, bounded in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.formats.lru import Lru
from forebay.formats.parquet.footer import Footer, read_footer

if TYPE_CHECKING:
    from forebay.formats.shard import ReadTally, ShardEntry
    from forebay.formats.storage.source import ByteSource

LIMIT_BYTES = 16_000_000


class FooterCache:
    """The least recently used footers go first; the last one read always stays.

    For threads, forks and pickling see `Lru`.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._footers: Lru[Footer] = Lru(limit, keep_newest=True)

    @property
    def nbytes(self) -> int:
        """An estimate of the memory that the kept footers hold, in bytes."""
        return self._footers.nbytes

    def bound(self, limit: int) -> None:
        """Keeps at most so many bytes from now on, but always the last footer read."""
        self._footers.bound(limit)

    def get(self, source: ByteSource, entry: ShardEntry, tally: ReadTally | None = None) -> Footer:
        """The shard's footer, kept or read; arguments and errors are those of `read_footer`."""
        key = (entry.file, entry.bytes, entry.footer_bytes, entry.footer_crc32c)
        return self._footers.get(key, lambda: read_footer(source, entry, tally))
