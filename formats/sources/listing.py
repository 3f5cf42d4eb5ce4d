"""The files under a folder, in an order of their own, and a digest over what they are."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from forebay.formats.errors import ForebayError, SourceError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_OF_THE_INPUT = frozenset(
    [errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP]
)


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to be packed.

    Args:
        name: relative to the source's folder, with forward slashes.
        size: bytes.
        mtime_ns: time of its last change.
        fault: why it cannot be read, or "".
    """

    name: str
    size: int
    mtime_ns: int
    fault: str = ""

    @property
    def suffix(self) -> str:
        """The last suffix of the name in lower case, such as ".jpg"; "" where there is none."""
        return PurePosixPath(self.name).suffix.lower()

    @property
    def top(self) -> str:
        """The first folder of the name; "" for a file that lies in the source's folder itself."""
        return self.name.split("/", 1)[0] if "/" in self.name else ""


def list_files(root: Path) -> list[InputFile]:
    """Every visible file under a folder, sorted by name; hidden files and folders are passed over.

    Links are followed, but no folder is entered inside itself. What is no regular file, or cannot
    be looked up, is listed with its fault.

    Raises:
        SourceError: a folder cannot be listed.
    """
    found: list[InputFile] = []
    waiting = [(root, "", frozenset[tuple[int, int]]())]
    while waiting:
        folder, prefix, above = waiting.pop()
        try:
            here = folder.stat()
            names = sorted(os.listdir(folder))
        except OSError as e:
            raise SourceError(f"cannot list {folder}: {e.strerror}; check its permissions") from e
        above |= {(here.st_dev, here.st_ino)}
        for name in names:
            if name.startswith("."):
                continue
            path = folder / name
            file = look_up(path, prefix + name)
            if file is not None:
                found.append(file)
                continue
            inside = path.stat()
            if (inside.st_dev, inside.st_ino) not in above:
                waiting.append((path, f"{prefix}{name}/", above))
    return sorted(found, key=lambda f: os.fsencode(f.name))


def look_up(path: Path, name: str) -> InputFile | None:
    """The file at a path; None for a folder."""
    try:
        facts = path.stat()
    except OSError as e:
        what = "dangling link" if path.is_symlink() else e.strerror or "cannot be looked up"
        return InputFile(name, 0, 0, what)
    if stat.S_ISDIR(facts.st_mode):
        return None
    # Opening a pipe or a device could wait for ever.
    fault = "" if stat.S_ISREG(facts.st_mode) else "not a regular file"
    return InputFile(name, facts.st_size, facts.st_mtime_ns, fault)


def digest_of(kind: str, files: Iterable[InputFile], *said: object) -> str:
    """SHA-256 over a kind of source, the names, sizes and times of its files, and options."""
    digest = hashlib.sha256(f"forebay-source-1\0{kind}\0{said!r}\0".encode())
    for f in files:
        digest.update(os.fsencode(f.name) + f"\0{f.size}\0{f.mtime_ns}\0{f.fault}\0".encode())
    return digest.hexdigest()


def check_readable(root: Path, files: Sequence[InputFile]) -> None:
    """Raises SourceError, naming the first, where a file has a fault."""
    faulty = [f for f in files if f.fault]
    if faulty:
        more = f" (and {len(faulty) - 1} more)" if len(faulty) > 1 else ""
        raise SourceError(
            f"cannot read {root / faulty[0].name}: {faulty[0].fault}{more}; remove it or repair it"
        )


def unreadable(path: Path, error: OSError, what: str = "") -> ForebayError:
    """The error to raise for one met while reading `path`.

    A SourceError where the file is missing, forbidden or malformed; a StorageError where the store
    failed, so that the same call may succeed later.
    """
    said = f"cannot read {path}{what}: {error.strerror or error}"
    # Arrow raises OSError without a number for bytes that it does not understand.
    if error.errno is None or error.errno in _OF_THE_INPUT:
        return SourceError(f"{said}; correct it and pack again")
    return StorageError(said)


def is_utf8(name: str) -> bool:
    """Whether a name that the system gave can be kept as text."""
    return not any("\ud800" <= c <= "\udfff" for c in name)


def printable(name: str) -> str:
    """The name with escapes for the bytes that are not UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def said_of(files: Sequence[InputFile]) -> str:
    """What a listing holds, for messages: "3 .txt, 1 .csv"."""
    counts = Counter(f.suffix or "without a suffix" for f in files)
    return ", ".join(f"{n} {suffix}" for suffix, n in counts.most_common(6))
