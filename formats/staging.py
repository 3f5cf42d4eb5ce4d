"""Staging folders: where a writer keeps what is not yet part of a dataset, and who cleans up.

A staging folder is hidden inside the dataset's own folder, so that a commit only renames. Its
writer holds a lock on it that dies with the process; an unlocked one is left over from a writer
that was killed, and the next writer removes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from typing import TYPE_CHECKING

from forebay.formats.commit import clear_temporaries, existing, locked
from forebay.formats.shard_table import ShardTable
from forebay.formats.storage.publish import write_atomic

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = ".forebay-write-"
PACK = ".pack"
_MOVES = "moves.json"


class Staging:
    """A new, locked staging folder inside `folder`, which exists."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._announced = False
        number = 0
        while True:
            suffix = f"-{number}" if number else ""
            self.path = folder / f"{PREFIX}{os.getpid()}{suffix}"
            number += 1
            try:
                self.path.mkdir()
            except FileExistsError:
                continue
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            if self.path.is_dir():
                break
            # Swept between its making and its locking; the next number is free.
            os.close(self._lock)

    def announce(self, names: list[str]) -> None:
        """Notes which names a commit is about to move, so that a sweep can take them back."""
        self._announced = True
        write_atomic(self.path / _MOVES, json.dumps(names).encode())

    def committed(self) -> None:
        """Says that what was moved is part of the dataset now."""
        self._announced = False

    def remove(self) -> None:
        """Removes the folder and, unless `committed`, what a commit that failed had moved."""
        if self._lock >= 0:
            if self._announced:
                _take_back(self._folder, self.path)
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def unfinished(folder: Path) -> list[str]:
    """Names of the staging folders in a folder, those of living writers included."""
    return sorted(p.name for p in folder.iterdir() if p.name == PACK or p.name.startswith(PREFIX))


def sweep(folder: Path) -> None:
    """Removes what killed writers left: their staging folders, and files they had moved that no
    manifest names.
    """
    for place in sorted(folder.glob(f"{PREFIX}*")):
        lock = _lock(place)
        if lock is None:
            continue
        try:
            _take_back(folder, place)
            shutil.rmtree(place, ignore_errors=True)
        finally:
            os.close(lock)
    with locked(folder):
        clear_temporaries(folder)


def _lock(place: Path) -> int | None:
    """A descriptor that locks a folder whose writer is dead; None where it may be alive."""
    try:
        lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _take_back(folder: Path, place: Path) -> None:
    try:
        names = json.loads((place / _MOVES).read_bytes())
    except (OSError, ValueError):
        return
    # Under the lock, since another writer may be moving files of the same names right now.
    with locked(folder):
        manifest = existing(folder)
        named: set[str] = set()
        if manifest is not None:
            named.update(d.file for d in manifest.dictionaries)
            for generation in manifest.generations:
                table = ShardTable.open(folder / generation.table.file, generation.table)
                named |= {generation.table.file, *table.files()}
        for name in names:
            if isinstance(name, str) and "/" not in name and name not in named:
                (folder / name).unlink(missing_ok=True)
