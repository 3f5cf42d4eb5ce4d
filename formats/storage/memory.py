"""Files held in memory: for small datasets and for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forebay.formats.errors import DatasetNotFound, TruncatedShard
from forebay.formats.storage.source import StoredFile


class MemorySource:
    """A dict of key -> bytes, read like a store. The bytes are not copied."""

    def __init__(self, files: Mapping[str, bytes], name: str = "memory") -> None:
        self.files = dict(files)
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def list(self, prefix: str = "") -> list[StoredFile]:
        return [
            StoredFile(key, len(data))
            for key, data in sorted(self.files.items())
            if key.startswith(prefix)
            and not any(part.startswith(".") for part in key.split("/")[:-1])
        ]

    def size(self, key: str) -> int:
        return len(self._data(key))

    def read_into(self, key: str, offsets: Sequence[int], outs: Sequence[memoryview]) -> None:
        data = self._data(key)
        for offset, out in zip(offsets, outs, strict=True):
            stop = offset + out.nbytes
            if stop > len(data):
                raise TruncatedShard(
                    f"truncated: have {len(data)} of at least {stop} bytes",
                    shard=key,
                    offset=offset,
                )
            out.cast("B")[:] = memoryview(data)[offset:stop]

    def _data(self, key: str) -> bytes:
        try:
            return self.files[key]
        except KeyError:
            raise DatasetNotFound(f"no such file: {self._name}/{key}") from None
