"""What is at a path: a dataset of ours, one of others, one that is not finished, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.formats.errors import DatasetError, DatasetNotFound, ManifestError
from forebay.formats.foreign import Format, open_foreign
from forebay.formats.manifest import FORMATS, MANIFEST
from forebay.formats.opened import Opened, open_own, refuse_unfinished

if TYPE_CHECKING:
    from pathlib import Path


def _refuse_headless(folder: Path) -> None:
    """A shard table without its manifest: what is left of one of ours is no dataset of others."""
    tables = sorted(p.name for p in folder.glob("shards*.arrow"))
    if tables:
        raise ManifestError(
            f"{folder} has {tables[0]} and no {MANIFEST}: the manifest of a forebay dataset is "
            "lost, so nothing says what belongs to it; restore it or write the dataset again"
        )


def find(path: Path, format: Format | None = None, generation: int | None = None) -> Opened:
    """The dataset at `path`; arguments and errors are those of `open_dataset`."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be {' or '.join(FORMATS)}, got {format!r}")
    if path.name == MANIFEST and path.is_file():
        path = path.parent
    if not path.exists():
        raise DatasetNotFound(f"there is no dataset at {path}: no such file or folder")
    if (path / MANIFEST).is_file():
        opened = open_own(path, generation)
        if format is not None and opened.manifest and opened.manifest.format != format:
            raise DatasetError(
                f"{path} is a dataset of {opened.manifest.format}, not of {format}: "
                "leave format out"
            )
        return opened
    if path.is_dir():
        refuse_unfinished(path)
        _refuse_headless(path)
    if generation is not None:
        raise DatasetError(
            f"{path} was not written by forebay and has no generations: leave generation out"
        )
    return open_foreign(path, format)
