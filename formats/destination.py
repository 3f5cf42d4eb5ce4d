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
        UnfinishedDataset: a pack into the folder runs, or was stopped.
    """
    created = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as e:
        raise DatasetError(f"{folder} is a file: give the path of a folder to write into") from e
    if (folder / PACK).exists():
        # Both would make the same generation, and one of them lose it.
        raise UnfinishedDataset(
            f"{folder} holds a pack that runs or was stopped: wait for it, or run "
            f"`forebay pack` again as before to finish it, or remove {folder / PACK}"
        )
    sweep(folder)
    parent = existing(folder)
    if parent is None:
        check_empty(folder)
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
    check_taken_over(folder, parent, options)
    dictionaries = read_dictionaries(LocalSource(folder), parent)
    return Destination(
        folder, parent.schema, parent.format, parent.codec, False, dictionaries, parent, created
    )


def _config(options: WriteOptions) -> str:
    if options.codec == "none":
        return canonical({"id": "none"})
    return canonical({"id": "zstd", "level": 3 if options.level is None else options.level})


def check_empty(folder: Path, ignored: str = "") -> None:
    """Raises DatasetError where a folder holds anything but staging folders and `ignored`."""
    names = sorted(os.listdir(folder))
    others = [n for n in names if n != ignored and not n.startswith(PREFIX)]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise DatasetError(
            f"{folder} is not empty and not a dataset: it holds {others[0]!r}{more}; "
            "give the path of an empty or new folder"
        )


def check_taken_over(folder: Path, parent: Manifest, options: WriteOptions) -> None:
    """Raises DatasetError where another format, codec or level is asked for than the parent's."""
    codec = json.loads(parent.codec)
    for name, asked, have in (
        ("format", options.format, parent.format),
        ("codec", options.codec, codec["id"]),
        ("level", options.level, codec.get("level")),
    ):
        if asked is not None and asked != have:
            raise DatasetError(
                f"cannot append with {name} {asked} to {folder}, whose {name} is {have}: "
                f"leave {name} out, or write a dataset of its own"
            )
