"""Image files: which of them are images, and the jobs that read them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.errors import SourceError
from forebay.formats.image.header import probe
from forebay.formats.record import Field
from forebay.formats.sources.listing import InputFile, is_utf8, printable, unreadable
from forebay.formats.sources.order import cuts_by_size, order_of
from forebay.formats.sources.source import CutRequest, Record, Rejected, nothing_left

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

IMAGE_SUFFIXES = frozenset(
    [
        ".jpg",
        ".jpeg",
        ".jpe",
        ".jfif",
        ".png",
        ".webp",
        ".gif",
        ".bmp",
        ".dib",
        ".tif",
        ".tiff",
        ".ppm",
        ".pgm",
        ".pbm",
        ".avif",
        ".heic",
    ]
)
_HEAD = 64 << 10
_LARGEST = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Probed:
    """Files that are images, in the order given, and those that are not.

    Args:
        encodings: of `images`, one each.
    """

    images: list[InputFile]
    encodings: list[str]
    rejected: tuple[Rejected, ...]

    def field(self, name: str = "image") -> Field:
        """The image field that holds them all."""
        kinds = set(self.encodings)
        one = kinds.pop() if len(kinds) == 1 else "image"
        return Field(name, "image", encoding=one if one in ("jpeg", "png") else "image")


def probe_images(root: Path, files: Sequence[InputFile], skip_bad: bool) -> Probed:
    """Reads the header of every file.

    Raises:
        SourceError: some are no images, and bad ones are not skipped; names the first, counts all.
            Or all are bad, and nothing is left.
    """
    # Opening many small files waits on the disk more than on Python.
    with ThreadPoolExecutor(8, thread_name_prefix="forebay-probe") as pool:
        found = list(pool.map(lambda f: _probe_file(root, f), files, chunksize=64))
    pairs = list(zip(files, found, strict=True))
    good = [(f, said) for f, (ok, said) in pairs if ok]
    bad = tuple(Rejected(printable(f.name), said) for f, (ok, said) in pairs if not ok)
    if bad and not skip_bad:
        named = "; ".join(f"{root / r.name}: {r.why}" for r in bad[:3])
        more = f"; and {len(bad) - 3} more" if len(bad) > 3 else ""
        raise SourceError(
            f"{len(bad)} of {len(files)} files cannot be packed as images ({named}{more}); "
            "remove them, or skip them with --skip-bad"
        )
    if bad and not good:
        raise SourceError(nothing_left(bad))
    return Probed([f for f, _ in good], [said for _, said in good], bad)


def _probe_file(root: Path, file: InputFile) -> tuple[bool, str]:
    """(True, encoding) of an image, (False, why not) of anything else."""
    if file.fault:
        return False, file.fault
    if not is_utf8(file.name):
        return False, "its name is not UTF-8; rename it"
    if not 0 < file.size <= _LARGEST:
        return False, "empty file" if not file.size else f"{file.size} bytes are too many"
    try:
        with open(root / file.name, "rb") as f:
            data = f.read(_HEAD)
            info = probe(data)
            if info is None and len(data) == _HEAD:
                info = probe(data + f.read())
    except OSError as e:
        return False, f"cannot be read: {e.strerror}"
    return (True, info.encoding) if info else (False, "not an image")


@dataclass(frozen=True, slots=True)
class ImageJob:
    """The images of one shard.

    Args:
        names: of the files, relative to `root`.
        sizes: their bytes when they were listed.
        others: values of the other fields, one a file each.
    """

    root: Path
    field: str
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    others: Mapping[str, tuple[Any, ...]]

    @property
    def records(self) -> int:
        """Number of images."""
        return len(self.names)

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(self.sizes)

    def read(self) -> Iterator[Record]:
        """One record a file; the image as (bytes, name)."""
        for i, (name, size) in enumerate(zip(self.names, self.sizes, strict=True)):
            record = {key: values[i] for key, values in self.others.items()}
            record[self.field] = (_read(self.root / name, size), name)
            yield record


def _read(path: Path, size: int) -> bytes:
    try:
        with open(path, "rb") as f:
            data = f.read(size + 1)
    except OSError as e:
        raise unreadable(path, e) from e
    if len(data) != size:
        raise SourceError(
            f"{path} changed while it was packed: listed with {size} bytes, now "
            f"{len(data) if len(data) < size else 'more'}; pack again"
        )
    return data


def image_jobs(
    root: Path,
    images: Sequence[InputFile],
    others: Mapping[str, Sequence[Any]],
    request: CutRequest,
) -> list[ImageJob]:
    """Jobs of about `request.shard_bytes` each, in the order asked for."""
    order = order_of(len(images), request.seed)
    sizes = np.array([f.size for f in images], np.int64)[order]
    jobs = []
    for start, stop in cuts_by_size(sizes, request.shard_bytes):
        rows = order[start:stop].tolist()
        jobs.append(
            ImageJob(
                root,
                "image",
                tuple(images[i].name for i in rows),
                tuple(images[i].size for i in rows),
                {name: tuple(values[i] for i in rows) for name, values in others.items()},
            )
        )
    return jobs
