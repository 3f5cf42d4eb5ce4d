"""Files of a local folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from forebay.formats.errors import DatasetNotFound, StorageError, TruncatedShard
from forebay.formats.storage.source import StoredFile
from forebay.kernels.file_read import read_file


class LocalSource:
    """A folder on a local or mounted file system.

    Each call opens and closes its file (about 5 us): no descriptor outlives a call, so forked and
    spawned processes, and datasets of a million shards, need no care.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    @property
    def name(self) -> str:
        return str(self.root)

    def __repr__(self) -> str:
        return f"LocalSource({str(self.root)!r})"

    def list(self, prefix: str = "") -> list[StoredFile]:
        if not self.root.is_dir():
            raise DatasetNotFound(f"no such folder: {self.root}")
        found: list[StoredFile] = []
        # With each folder go the folders above it: a link to one of them would never end.
        waiting = [("", frozenset[tuple[int, int]]())]
        while waiting:
            inside, above = waiting.pop()
            folder = self.root / inside
            try:
                here = folder.stat()
                names = os.listdir(folder)
            except OSError as e:
                raise StorageError(f"cannot list {folder}: {e.strerror}") from e
            identity = (here.st_dev, here.st_ino)
            if identity in above:
                continue
            for name in names:
                key, path = inside + name, folder / name
                if path.is_dir():
                    if not name.startswith("."):
                        waiting.append((f"{key}/", above | {identity}))
                elif key.startswith(prefix) and path.is_file():
                    found.append(StoredFile(key, path.stat().st_size))
        return sorted(found, key=lambda f: f.key)

    def size(self, key: str) -> int:
        try:
            return os.stat(self._path(key)).st_size
        except FileNotFoundError as e:
            raise DatasetNotFound(f"no such file: {self._path(key)}") from e
        except OSError as e:
            raise StorageError(f"cannot look up {self._path(key)}: {e.strerror}") from e

    def read_into(self, key: str, offsets: Sequence[int], outs: Sequence[memoryview]) -> None:
        path = self._path(key)
        read = read_file(path, offsets, outs)
        if read.error == errno.ENOENT and not read.opened:
            raise DatasetNotFound(f"no such file: {path}")
        if read.error:
            what = "read" if read.opened else "open"
            raise StorageError(f"cannot {what} {path}: {os.strerror(read.error)}")
        if read.ranges < len(outs):
            begin, size = offsets[read.ranges], outs[read.ranges].nbytes
            have = self.size(key)
            raise TruncatedShard(
                f"truncated: have {have} of at least {begin + size} bytes; "
                "restore the file from its source or write the dataset again",
                shard=key,
                offset=begin + read.nbytes,
            )

    def _path(self, key: str) -> Path:
        # A key comes out of a manifest, so it must not lead out of the dataset's folder.
        if key.startswith("/") or ".." in key.split("/"):
            raise StorageError(f"file name {key!r} leads out of the dataset folder {self.root}")
        return self.root / key
