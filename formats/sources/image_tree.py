"""A folder of images with one folder a class: the label is the number of the class by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.formats.errors import SourceError
from forebay.formats.record import Field, Schema
from forebay.formats.sources.images import image_jobs, probe_images
from forebay.formats.sources.listing import InputFile, digest_of
from forebay.formats.sources.source import Cut, CutRequest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class ImageTree:
    """Files in folders of folders; the first folder of each names its class.

    The classes are the visible folders of `root`, sorted; folders inside a class are searched too.
    """

    root: Path
    files: Sequence[InputFile]
    skip_bad: bool = False
    kind = "image tree"
    holds_images = True
    shuffled = True

    @property
    def digest(self) -> str:
        """Over names, sizes and times of all files, and the classes."""
        return digest_of(self.kind, self.files, self.classes())

    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their numbers."""
        names = sorted(p.name for p in self.root.iterdir() if p.is_dir() and p.name[0] != ".")
        for name in names:
            if not name.isprintable():
                raise SourceError(
                    f"the class folder {name!r} in {self.root} has a name that is not plain text; "
                    "rename it"
                )
        return tuple(names)

    def cut(self, request: CutRequest) -> Cut:
        """Fields `image` and `label` (int64)."""
        probed = probe_images(self.root, self.files, self.skip_bad)
        classes = self.classes()
        loose = [f.name for f in probed.images if not f.top]
        if loose:
            raise SourceError(
                f"{self.root} holds {len(loose)} images beside its class folders, the first "
                f"{loose[0]!r}: move them into a class folder, or away"
            )
        number = {name: i for i, name in enumerate(classes)}
        labels = [number[f.top] for f in probed.images]
        schema = Schema((probed.field(), Field("label", "fixed", "int64", classes=classes)))
        jobs = image_jobs(self.root, probed.images, {"label": labels}, request)
        return Cut(schema, jobs, probed.rejected)
