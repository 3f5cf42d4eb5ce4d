"""The folder that a writer was given: whether it may be written, and what is taken over from it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.formats.codecs.codec import canonical
from forebay.formats.codecs.zstd import LEVELS
from forebay.formats.commit import check_same_schema, existing, shard_stem
from forebay.formats.errors import DatasetError, UnfinishedDataset
from forebay.formats.manifest import FORMATS, Manifest
from forebay.formats.opened import read_dictionaries
from forebay.formats.staging import PACK, PREFIX, sweep
from forebay.formats.storage.local import LocalSource

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.formats.record import Schema

CODECS = ("zstd", "none")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a user asked for; None where nothing was said."""

    format: str | None = None
    codec: str | None = None
    level: int | None = None
    append: bool = False

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ValueError(f"format must be {' or '.join(FORMATS)}, got {self.format!r}")
        if self.codec is not None and self.codec not in CODECS:
            raise ValueError(f"codec must be {' or '.join(CODECS)}, got {self.codec!r}")
        if self.level is not None and self.level not in LEVELS:
            raise ValueError(f"level must be 1 to {LEVELS[-1]}, got {self.level!r}")
        if self.level is not None and self.codec == "none":
            raise ValueError(f"level {self.level} says nothing to codec 'none': leave it out")


@dataclass(frozen=True, slots=True)
class Destination:
    """A folder ready to be written, and how.

    Args:
        codec: configuration as canonical JSON.
        trains: whether the first records may still give the codec a dictionary.
        dictionaries: contents of the files that `codec` names.
        parent: the dataset appended to.
        created: whether the folder was made for this.
    """

    folder: Path
    schema: Schema
    format: str
    codec: str
    trains: bool
    dictionaries: dict[str, bytes]
    parent: Manifest | None
    created: bool

    def stem(self, number: int) -> str:
        """File name without suffix of shard `number` of those to be written."""
        return shard_stem(number + (self.parent.shards if self.parent else 0))

    def leave(self) -> None:
        """Removes the folder again where it was made for this and nothing came into it."""
        if self.created and self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


def prepare(folder: Path, schema: Schema, options: WriteOptions) -> Destination:
    """Makes the folder if need be, clears it of what killed writers left, and checks it.

    Raises:
        DatasetError: it is not a folder, holds something else, or holds a dataset and `append`
            was not given or asks for another format or codec.
        SchemaError: the fields are not those of the dataset that is appended to.
    """
    created = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as e:
        raise DatasetError(f"{folder} is a file: give the path of a folder to write into") from e
    sweep(folder)
    parent = existing(folder)
    if parent is None:
        _check_empty(folder)
        format = options.format or "parquet"
        codec = _config(options)
        trains = format == "recordio" and (options.codec or "zstd") == "zstd"
        return Destination(folder, schema, format, codec, trains, {}, None, created)
    if not options.append:
        raise DatasetError(
            f"{folder} already holds a dataset of {parent.records} records: "
            "append to it with append=True, or give another path"
        )
    check_same_schema(folder, parent.schema, schema)
    _check_taken_over(folder, parent, options)
    dictionaries = read_dictionaries(LocalSource(folder), parent)
    return Destination(
        folder, parent.schema, parent.format, parent.codec, False, dictionaries, parent, created
    )


def _config(options: WriteOptions) -> str:
    if options.codec == "none":
        return canonical({"id": "none"})
    return canonical({"id": "zstd", "level": 3 if options.level is None else options.level})


def _check_empty(folder: Path) -> None:
    names = sorted(os.listdir(folder))
    if PACK in names:
        raise UnfinishedDataset(
            f"{folder} holds a pack that was stopped: run `forebay pack` again to finish it, "
            f"or remove {folder / PACK}"
        )
    others = [n for n in names if not n.startswith(PREFIX)]
    if others:
        raise DatasetError(
            f"{folder} is not empty and not a dataset: it holds {others[0]!r} and "
            f"{len(others) - 1} more; give the path of an empty or new folder"
        )


def _check_taken_over(folder: Path, parent: Manifest, options: WriteOptions) -> None:
    if options.format not in (None, parent.format):
        raise DatasetError(
            f"cannot append {options.format} to {folder}, which is {parent.format}: "
            "leave format out, or write a dataset of its own"
        )
    codec = json.loads(parent.codec)
    other_level = options.level is not None and options.level != codec.get("level")
    if options.codec not in (None, codec["id"]) or other_level:
        raise DatasetError(
            f"cannot append with another codec to {folder}, whose codec is {parent.codec}: "
            "leave codec and level out, or write a dataset of its own"
        )
