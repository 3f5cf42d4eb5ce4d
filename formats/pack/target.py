"""The dataset that a pack writes or appends to: what it must be, and what follows from it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.formats.codecs.codec import canonical
from forebay.formats.commit import check_same_schema, existing, shard_stem
from forebay.formats.errors import DatasetError, SourceError
from forebay.formats.opened import read_dictionaries
from forebay.formats.pack.work_folder import Plan, read_plan
from forebay.formats.staging import PACK, PREFIX, sweep
from forebay.formats.storage.local import LocalSource

if TYPE_CHECKING:
    from forebay.formats.destination import WriteOptions
    from forebay.formats.manifest import Manifest
    from forebay.formats.pack.options import PackOptions
    from forebay.formats.record import Schema
    from forebay.formats.sources.source import Source


@dataclass(frozen=True, slots=True)
class Target:
    """A dataset's folder, which need not exist yet.

    Args:
        manifest: what is there now, or None.
        generation: that the pack makes.
        codec: configuration as canonical JSON.
        trains: whether the first records may still give the codec a dictionary.
    """

    folder: Path
    manifest: Manifest | None
    generation: int
    format: str
    codec: str
    trains: bool

    @property
    def committed(self) -> bool:
        """Whether a stopped run of the same pack had made the dataset already."""
        return self.manifest is not None and self.manifest.last.number == self.generation

    @property
    def parent(self) -> Manifest | None:
        """The dataset appended to."""
        if self.manifest is None or self.generation == 1:
            return None
        return self.manifest.at(self.generation - 1)

    def stem(self, number: int) -> str:
        """File name without suffix of the shard of job `number`."""
        return shard_stem(number + (self.parent.shards if self.parent else 0))

    def dictionaries(self) -> dict[str, bytes]:
        """Contents of the dictionary files of the dataset appended to."""
        if self.parent is None:
            return {}
        return read_dictionaries(LocalSource(self.folder), self.parent)

    def check(self, schema: Schema) -> None:
        """Raises SchemaError where the dataset appended to has another schema."""
        if self.parent is not None:
            check_same_schema(self.folder, self.parent.schema, schema)


def target_of(folder: Path, source: Source, options: PackOptions, restart: bool) -> Target:
    """What a folder is to become.

    Raises:
        DatasetError: it is a file, holds something else, or holds a dataset and `append` was not
            given or asks for another format or codec.
    """
    if folder.exists() and not folder.is_dir():
        raise DatasetError(f"{folder} is a file: give the path of a folder to write into")
    plan = None if restart else read_plan(folder)
    manifest = None
    if folder.is_dir():
        sweep(folder)
        manifest = existing(folder)
    if manifest is None:
        if plan is None:
            _check_empty(folder, restart)
        return _new(folder, None, source, options)
    base: Manifest | None = manifest
    if _is_of(plan, manifest):
        # Stopped between its commit and the removal of its work folder.
        last = manifest.last.number
        base = manifest.at(last - 1) if last > 1 else None
    elif not options.write.append:
        raise DatasetError(
            f"{folder} already holds a dataset of {manifest.records} records: add to it with "
            "--append, or give another path"
        )
    if base is None:
        return _new(folder, manifest, source, options)
    _check_taken_over(folder, base, options.write)
    return Target(folder, manifest, base.last.number + 1, base.format, base.codec, False)


def _new(folder: Path, manifest: Manifest | None, source: Source, options: PackOptions) -> Target:
    format, codec = _settled(source, options)
    trains = format == "recordio" and codec != canonical({"id": "none"})
    return Target(folder, manifest, 1, format, codec, trains)


def _check_taken_over(folder: Path, base: Manifest, options: WriteOptions) -> None:
    codec = json.loads(base.codec)
    for name, asked, have in (
        ("format", options.format, base.format),
        ("codec", options.codec, codec["id"]),
        ("level", options.level, codec.get("level")),
    ):
        if asked is not None and asked != have:
            raise DatasetError(
                f"cannot append with {name} {asked} to {folder}, whose {name} is {have}: "
                f"leave {name} out, or write a dataset of its own"
            )


def _is_of(plan: Plan | None, manifest: Manifest) -> bool:
    return plan is not None and plan.get("generation") == manifest.last.number


def _settled(source: Source, options: PackOptions) -> tuple[str, str]:
    format = options.write.format or "parquet"
    name = options.write.codec
    if name is None:
        asked = options.write.level is not None
        plain = format == "recordio" and source.holds_images and not asked
        name = "none" if plain else "zstd"
    if name == "none":
        return format, canonical({"id": "none"})
    level = 3 if options.write.level is None else options.write.level
    return format, canonical({"id": "zstd", "level": level})


def _check_empty(folder: Path, restart: bool) -> None:
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    others = [n for n in names if n != PACK and not n.startswith(PREFIX)]
    if others and not (restart and PACK in names):
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise DatasetError(
            f"{folder} is not empty and not a dataset: it holds {others[0]!r}{more}; "
            "give the path of an empty or new folder"
        )


def check_apart(src: Path, dst: Path) -> None:
    """Raises SourceError where one of the two folders lies in the other."""
    a, b = Path(os.path.realpath(src)), Path(os.path.realpath(dst))
    if a == b or a in b.parents or (a.is_dir() and b in a.parents):
        raise SourceError(
            f"{dst} and {src} lie one in the other: what is written would be read as input; "
            "give a destination apart from the source"
        )
