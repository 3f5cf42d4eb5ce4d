"""The dataset that a pack writes or appends to: what it must be, and what follows from it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.formats.codecs.codec import canonical
from forebay.formats.commit import check_same_schema, existing, shard_stem
from forebay.formats.destination import check_empty, check_taken_over
from forebay.formats.errors import DatasetError, SourceError
from forebay.formats.opened import read_dictionaries
from forebay.formats.pack.work_folder import Plan, read_plan
from forebay.formats.staging import PACK, sweep
from forebay.formats.storage.local import LocalSource

if TYPE_CHECKING:
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
        known = restart and (folder / PACK).is_dir()
        if plan is None and folder.is_dir() and not known:
            check_empty(folder, PACK)
        return _new(folder, None, source, options)
    base: Manifest | None = manifest
    if _is_of(plan, manifest):
        # Stopped between its commit and the removal of its work folder; or another writer came
        # first. The commit tells the two apart, by fingerprint.
        last = manifest.last.number
        base = manifest.at(last - 1) if last > 1 else None
    elif not options.write.append:
        raise DatasetError(
            f"{folder} already holds a dataset of {manifest.records} records: add to it with "
            "--append, or give another path"
        )
    if base is None:
        return _new(folder, manifest, source, options)
    check_taken_over(folder, base, options.write)
    return Target(folder, manifest, base.last.number + 1, base.format, base.codec, False)


def _new(folder: Path, manifest: Manifest | None, source: Source, options: PackOptions) -> Target:
    format, codec = _settled(source, options)
    trains = format == "recordio" and codec != canonical({"id": "none"})
    return Target(folder, manifest, 1, format, codec, trains)


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


def check_apart(src: Path, dst: Path) -> None:
    """Raises SourceError where one of the two folders lies in the other."""
    a, b = Path(os.path.realpath(src)), Path(os.path.realpath(dst))
    if a == b or a in b.parents or (a.is_dir() and b in a.parents):
        raise SourceError(
            f"{dst} and {src} lie one in the other: what is written would be read as input; "
            "give a destination apart from the source"
        )
