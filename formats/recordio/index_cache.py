"""Indexes of shards, loaded when first needed and kept within a bound of bytes."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.errors import ChecksumMismatch, ManifestError, TruncatedShard
from forebay.formats.lru import Lru
from forebay.formats.record import Schema
from forebay.formats.recordio.index import ShardIndex, decode_index
from forebay.formats.shard import ReadTally
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.formats.shard import FileCheck, ShardEntry
    from forebay.formats.storage.source import ByteSource

INDEX_CACHE_BYTES = 256_000_000
"""About 12 million records at 20 bytes each."""


class IndexCache:
    """The least recently used indexes go first; the one last loaded always stays.

    For threads and forks see `Lru`; picklable, without what it has loaded. The sizes of images are
    left out: nothing that reads rows needs them.

    Args:
        known: indexes of foreign shards by file name, kept for good: nothing to load them from.
    """

    def __init__(
        self,
        source: ByteSource,
        known: Mapping[str, ShardIndex],
        limit: int = INDEX_CACHE_BYTES,
    ) -> None:
        self._source = source
        self._known = dict(known)
        self._loaded: Lru[ShardIndex] = Lru(limit, keep_newest=True)
        # A deque needs no lock, which a fork could leave held.
        self._owed: deque[ReadTally] = deque()

    @property
    def nbytes(self) -> int:
        """Bytes that the loaded indexes keep alive."""
        return self._loaded.nbytes

    def bound(self, limit: int) -> None:
        """Keeps at most so many bytes from now on, or one index."""
        self._loaded.bound(limit)

    def get(self, shard: ShardEntry, tally: ReadTally | None) -> ShardIndex:
        """The index of a shard, its own CRC checked.

        Args:
            tally: what loading cost is added to it, and whatever calls without one still owe.

        Raises:
            ShardError: the index is damaged, or does not fit the shard.
            ManifestError: the shard table names no index.
        """
        if tally is not None:
            self._settle(tally)
        if shard.file in self._known:
            return self._known[shard.file]
        check = shard.index
        if check is None:
            raise ManifestError(
                f"the shard table names no index for {shard.file}; open the folder again, "
                "or write the dataset again"
            )
        own = ReadTally()
        try:
            return self._loaded.get(shard.file, lambda: self._load(shard, check, own))
        finally:
            if own.requests:
                self._owed.append(own)
            if tally is not None:
                self._settle(tally)

    def _settle(self, tally: ReadTally) -> None:
        while self._owed:
            try:
                own = self._owed.popleft()
            except IndexError:  # another thread was faster
                return
            tally.bytes += own.bytes
            tally.requests += own.requests
            tally.read_s += own.read_s
            tally.check_s += own.check_s

    def _load(self, shard: ShardEntry, check: FileCheck, tally: ReadTally) -> ShardIndex:
        # The size comes from the shard table; a file that is shorter must not cause the allocation.
        have = self._source.size(check.file)
        if have < check.bytes:
            raise TruncatedShard(
                f"truncated: have {have} of {check.bytes} bytes; restore the file from its source "
                "or write the dataset again",
                shard=check.file,
                offset=have,
            )
        data = aligned_empty(check.bytes)
        began = time.perf_counter()
        self._source.read_into(check.file, [0], [data.data])
        tally.bytes += check.bytes
        tally.requests += 1
        read = time.perf_counter()
        tally.read_s += read - began
        found = crc32c(data.data)
        if found != check.crc32c:
            raise ChecksumMismatch(
                f"CRC-32C of the index is {found:#010x} where the shard table has "
                f"{check.crc32c:#010x}; restore the file from its source "
                "or write the dataset again",
                shard=check.file,
                offset=0,
            )
        index = decode_index(data, shard.file, shard.bytes, Schema(()))
        tally.check_s += time.perf_counter() - read
        if len(index) != shard.records or shard.records != int(np.sum(shard.block_rows)):
            raise ManifestError(
                f"shard {shard.file} has {len(index)} records by its index, {shard.records} by the "
                f"shard table and {np.sum(shard.block_rows)} in its blocks; write the dataset again"
            )
        return index
