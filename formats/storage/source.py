"""The seam between formats and where their bytes lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from forebay.formats.errors import StorageError


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a source: `key` is its path relative to the source, with forward slashes."""

    key: str
    size: int


class ByteSource(Protocol):
    """Files under one root, read by ranges.

    Every implementation is safe to call from several threads, picklable, and holds no descriptor
    between calls, so that it survives fork. A cache is a ByteSource round a ByteSource.
    """

    @property
    def name(self) -> str:
        """What to call the root in messages; never holds a secret."""
        ...

    def list(self, prefix: str = "") -> list[StoredFile]:
        """The files whose key starts with `prefix`, sorted by key, without hidden folders.

        Links are followed, but no folder is entered inside itself.

        Raises:
            DatasetNotFound: there is no such root.
            StorageError: the store failed.
        """
        ...

    def size(self, key: str) -> int:
        """Bytes of one file.

        Raises:
            DatasetNotFound: there is no such file.
            StorageError: the store failed.
        """
        ...

    def read_into(self, key: str, offsets: Sequence[int], outs: Sequence[memoryview]) -> None:
        """Fills each of `outs` (writable, contiguous) with the bytes from its offset on.

        Raises:
            TruncatedShard: the file ends before a range does; says have N of M bytes.
            DatasetNotFound: there is no such file.
            StorageError: the store failed.
        """
        ...


def read_all(source: ByteSource, key: str, limit: int = 1 << 30) -> bytes:
    """A whole small file.

    Raises:
        TruncatedShard: it shrank while it was read.
        StorageError: it is larger than `limit` bytes.
    """
    size = source.size(key)
    if size > limit:
        raise StorageError(f"{source.name}/{key} has {size} bytes, more than the {limit} expected")
    out = bytearray(size)
    if size:
        source.read_into(key, [0], [memoryview(out)])
    return bytes(out)
