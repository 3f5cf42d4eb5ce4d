"""Indexes of shards, loaded when first needed and kept within a bound of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.errors import ChecksumMismatch, ManifestError, TruncatedShard
from forebay.formats.recordio.index import ShardIndex, decode_index
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.formats.record import Schema
    from forebay.formats.shard import FileCheck, ReadTally, ShardEntry
    from forebay.formats.storage.source import ByteSource

INDEX_CACHE_BYTES = 16_000_000


class IndexCache:
    """The least recently used indexes go first; the one in use always stays.

    Safe to call from several threads (two may load one index at once); picklable, without what
    it has loaded.

    Args:
        known: indexes of foreign shards by file name, kept for good: nothing to load them from.
    """

    def __init__(
        self,
        source: ByteSource,
        schema: Schema,
        known: Mapping[str, ShardIndex],
        limit: int = INDEX_CACHE_BYTES,
    ) -> None:
        self._source = source
        self._schema = schema
        self._known = dict(known)
        self._limit = limit
        self._reset()

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_source", "_schema", "_known", "_limit")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    @property
    def nbytes(self) -> int:
        """Bytes that the loaded indexes keep alive."""
        return self._nbytes

    def get(self, shard: ShardEntry, tally: ReadTally) -> ShardIndex:
        """The index of a shard, its own CRC checked.

        Raises:
            ShardError: the index is damaged, or does not fit the shard.
            ManifestError: the shard table names no index.
        """
        if shard.file in self._known:
            return self._known[shard.file]
        if shard.index is None:
            raise ManifestError(
                f"the shard table names no index for {shard.file}; open the folder again, "
                "or write the dataset again"
            )
        with self._lock:
            found = self._loaded.get(shard.file)
            if found is not None:
                self._loaded.move_to_end(shard.file)
                return found
        loaded = self._load(shard, shard.index, tally)
        with self._lock:
            if shard.file not in self._loaded:
                self._loaded[shard.file] = loaded
                self._nbytes += loaded.nbytes
            while self._nbytes > self._limit and len(self._loaded) > 1:
                self._nbytes -= self._loaded.popitem(last=False)[1].nbytes
        return loaded

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._loaded: OrderedDict[str, ShardIndex] = OrderedDict()
        self._nbytes = 0

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
        self._source.read_into(check.file, [0], [data.data])
        tally.bytes += check.bytes
        tally.requests += 1
        found = crc32c(data.data)
        if found != check.crc32c:
            raise ChecksumMismatch(
                f"CRC-32C of the index is {found:#010x} where the shard table has "
                f"{check.crc32c:#010x}; restore the file from its source "
                "or write the dataset again",
                shard=check.file,
                offset=0,
            )
        index = decode_index(data, shard.file, shard.bytes, self._schema)
        if len(index) != shard.records or shard.records != int(np.sum(shard.block_rows)):
            raise ManifestError(
                f"shard {shard.file} has {len(index)} records by its index, {shard.records} by the "
                f"shard table and {np.sum(shard.block_rows)} in its blocks; write the dataset again"
            )
        return index
