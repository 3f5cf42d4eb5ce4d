"""Parsed footers of the shards last read, bounded in bytes."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from forebay.formats.parquet.footer import Footer, read_footer

if TYPE_CHECKING:
    from forebay.formats.shard import ReadTally, ShardEntry
    from forebay.formats.storage.source import ByteSource

LIMIT_BYTES = 16_000_000


class FooterCache:
    """The least recently used footers go first; the last one read always stays.

    Safe to call from several threads: two that miss the same shard at once both read it. A forked
    child begins empty, so that a lock held by a thread that it does not have cannot stop it.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._reset()

    def __reduce__(self) -> tuple[type[FooterCache], tuple[int]]:
        return FooterCache, (self._limit,)

    @property
    def nbytes(self) -> int:
        """An estimate of the memory that the kept footers hold, in bytes."""
        return self._nbytes

    def get(self, source: ByteSource, entry: ShardEntry, tally: ReadTally | None = None) -> Footer:
        """The shard's footer, kept or read; arguments and errors are those of `read_footer`."""
        if self._process != os.getpid():
            self._reset()
        key = (entry.file, entry.bytes, entry.footer_bytes, entry.footer_crc32c)
        with self._lock:
            kept = self._footers.get(key)
            if kept is not None:
                self._footers.move_to_end(key)
                return kept
        footer = read_footer(source, entry, tally)
        with self._lock:
            if key not in self._footers:
                self._footers[key] = footer
                self._nbytes += footer.nbytes
            while self._nbytes > self._limit and len(self._footers) > 1:
                self._nbytes -= self._footers.popitem(last=False)[1].nbytes
        return footer

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._footers: OrderedDict[tuple[str, int, int, int], Footer] = OrderedDict()
        self._nbytes = 0
