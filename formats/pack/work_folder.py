"""The work folder of a pack, DST/.pack: its plan, its finished shards, and who may use it.

    plan.json            what is being packed, and how; a rerun must agree
    done-000000.json     a finished shard, see `journal`
    run-0001/            shard files written by the first run, run-0002/ by the second, ...
    stage.arrow          rows of a table on their way, see `sources.staged`

Each run writes into a folder of its own, so that a process of a killed run that has not noticed
yet can spoil nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.formats.commit import DICTIONARY, existing, table_name
from forebay.formats.errors import ForebayError, ShardError, UnfinishedDataset
from forebay.formats.pack.journal import DoneShard, noted
from forebay.formats.staging import PACK
from forebay.formats.storage.publish import sync_folder, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from forebay.formats.shard import ShardEntry

PLAN = "plan.json"
Plan = dict[str, Any]


def read_plan(folder: Path) -> Plan | None:
    """The plan of the unfinished pack in a dataset's folder, or None.

    Raises:
        UnfinishedDataset: there is one that cannot be understood.
    """
    path = folder / PACK / PLAN
    try:
        plan = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as e:
        raise UnfinishedDataset(f"{path} is damaged ({e}): remove {folder / PACK}") from e
    return plan if isinstance(plan, dict) else {}


@dataclass
class WorkFolder:
    """A work folder that this process alone may use until it is closed.

    Args:
        folder: of the dataset.
        created: whether `folder` was made for this pack.
    """

    folder: Path
    created: bool
    run: str = ""
    _lock: int = -1

    @property
    def path(self) -> Path:
        """DST/.pack."""
        return self.folder / PACK

    @property
    def run_path(self) -> Path:
        """Where this run writes shard files."""
        return self.path / self.run

    def __enter__(self) -> WorkFolder:
        self.path.mkdir(exist_ok=True)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            self.__exit__(None, None, None)
            raise UnfinishedDataset(
                f"another pack is writing to {self.folder}: wait for it, or stop it"
            ) from e
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def begin(self, plan: Plan) -> dict[int, DoneShard]:
        """Settles the plan and makes the folder of this run.

        Returns:
            The shards that earlier runs finished and that are still whole.

        Raises:
            UnfinishedDataset: an earlier run had another plan; names what differs.
        """
        before = read_plan(self.folder)
        if before is None:
            self._clear()
            data = json.dumps(plan, indent=1, sort_keys=True).encode()
            write_atomic(self.path / PLAN, data)
            sync_folder(self.folder)
        elif before != plan:
            names = sorted(k for k in before.keys() | plan.keys() if before.get(k) != plan.get(k))
            said = "; ".join(f"{n} was {before.get(n)!r}, now {plan.get(n)!r}" for n in names)
            raise UnfinishedDataset(
                f"{self.path} holds an unfinished pack of other inputs or options ({said}): "
                f"pack again as before to finish it, or give --restart or remove {self.path}"
            )
        done = {n: d for n, d in noted(self.path).items() if self._whole(d)}
        kept = {d.folder for d in done.values()}
        runs = sorted(p for p in self.path.glob("run-*") if p.is_dir())
        number = int(runs[-1].name.removeprefix("run-")) + 1 if runs else 1
        for old in runs:
            if old.name not in kept:
                shutil.rmtree(old, ignore_errors=True)
        self.run = f"run-{number:04d}"
        self.run_path.mkdir()
        sync_folder(self.path)
        return done

    def restart(self) -> None:
        """Forgets earlier runs, also what a commit of theirs may have moved already."""
        plan = read_plan(self.folder)
        manifest = existing(self.folder)
        generation = manifest.last.number if manifest else 0
        if plan is not None and plan.get("generation") == generation + 1:
            for done in noted(self.path).values():
                for name, _ in files_of(done.entry):
                    (self.folder / name).unlink(missing_ok=True)
            (self.folder / table_name(generation + 1)).unlink(missing_ok=True)
            if generation == 0:
                (self.folder / DICTIONARY).unlink(missing_ok=True)
        self._clear()

    def has_records(self) -> bool:
        """Whether a shard with records is finished, here or where a commit moved it."""
        return any(d.entry.records and self._whole(d) for d in noted(self.path).values())

    def going_on(self, error: ForebayError) -> ForebayError:
        """The same error, saying that finished shards are kept."""
        kept = (
            f"the shards finished so far are kept in {self.path}: the same command goes on after "
            "them, --restart begins anew"
        )
        if isinstance(error, ShardError):
            place = {name: getattr(error, name) for name in ("shard", "offset", "block", "record")}
            return type(error)(f"{error.what}; {kept}", **place)
        return type(error)(f"{error}; {kept}")

    def remove(self) -> None:
        """Removes the work folder; and the dataset's, if it was made for this and is empty."""
        # The plan goes first: without it, what is left is known to be rubbish.
        (self.path / PLAN).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)
        if self.created and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _clear(self) -> None:
        (self.path / PLAN).unlink(missing_ok=True)
        for path in self.path.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _whole(self, done: DoneShard) -> bool:
        """Whether a shard's files are where they were written, or where a commit moves them."""
        for name, size in files_of(done.entry):
            places = (self.path / done.folder / name, self.folder / name)
            if not any(p.exists() and p.stat().st_size == size for p in places):
                return False
        return True


def files_of(entry: ShardEntry) -> Iterator[tuple[str, int]]:
    """(name, size) of every file of a shard."""
    yield entry.file, entry.bytes
    for check in (entry.index, entry.key_index):
        if check is not None:
            yield check.file, check.bytes
