"""What a pack does to the images that pass through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from forebay.formats.errors import SourceError
from forebay.formats.jpeg.store import seekable
from forebay.formats.record import Schema
from forebay.kernels.jpeg_transcode import available

if TYPE_CHECKING:
    from forebay.formats.pack.options import PackOptions
    from forebay.formats.sources.source import Record

Reencode = Callable[[bytes], bytes]

_PACKAGE = "libjpeg-turbo's headers (Debian: libjpeg62-turbo-dev)"


def settled(images: str | None) -> str:
    """The setting to pack by: for None, the better of the two that this build can do.

    Raises:
        SourceError: "seekable" was asked for, and native JPEG support was not built.
    """
    if images == "seekable" and not available():
        raise SourceError(
            f"images 'seekable' needs native JPEG support, and forebay was built without it: "
            f"install {_PACKAGE} and build it again, or say --images keep"
        )
    return images or ("seekable" if available() else "keep")


def fallback(images: str | None, schema: Schema) -> str:
    """What to tell a user whose images are kept for want of support, "" where there is nothing."""
    if images is not None or available() or not has_images(schema):
        return ""
    return (
        "images are kept as they are, since forebay was built without native JPEG support: with "
        f"{_PACKAGE} it makes them seekable"
    )


def has_images(schema: Schema) -> bool:
    """Whether a field holds encoded images."""
    return any(f.kind == "image" for f in schema)


def schema_of(schema: Schema, options: PackOptions) -> Schema:
    """The schema of what is written: images that are re-encoded become JPEG.

    Raises:
        SourceError: an option is about images, and there are none.
    """
    if not has_images(schema):
        said = {
            "resize": options.resize is not None,
            "images 'seekable'": options.images == "seekable",
            "keep-metadata": options.keep_metadata,
        }
        for name, given in said.items():
            if given:
                raise SourceError(f"{name} is for images, and the source has none; leave it out")
    if options.resize is None:
        return schema
    return Schema(tuple(replace(f, encoding="jpeg") if f.kind == "image" else f for f in schema))


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to each image; picklable.

    Args:
        reencode: turns an image's bytes into others, first of all; None does not.
        seekable: make JPEG seekable, where that is possible without loss.
        keep_metadata: of what is made seekable.
    """

    reencode: Reencode | None = None
    seekable: bool = False
    keep_metadata: bool = False

    def __bool__(self) -> bool:
        """Whether anything is done."""
        return self.reencode is not None or self.seekable


@dataclass(slots=True)
class Changing:
    """A change at work on the records of one shard; `fates` counts what became of the images."""

    schema: Schema
    change: Change
    fates: Counter[str] = field(default_factory=Counter)

    @property
    def idle(self) -> bool:
        """Whether records pass unchanged."""
        return not (self.change and has_images(self.schema))

    def __call__(self, record: Record) -> Record:
        """The record with its images changed.

        Raises:
            SourceError: an image cannot be re-encoded.
        """
        changed = dict(record)
        fates: list[str] = []
        for f in self.schema:
            value = record.get(f.name)
            if f.kind != "image" or value is None:
                continue
            data, *path = value if isinstance(value, tuple) else (value,)
            if self.change.reencode is not None:
                data = self.change.reencode(data)
            if self.change.seekable:
                data, fate = seekable(data, self.change.keep_metadata)
                fates.append(fate)
            changed[f.name] = (data, *path) if path else data
        # Only now: a record that is left out for one of its images counts for none.
        self.fates.update(fates)
        return changed
