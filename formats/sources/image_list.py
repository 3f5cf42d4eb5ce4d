"""A folder of images with or without a CSV file that gives each image's other fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from forebay.formats.errors import SourceError
from forebay.formats.record import Field, Schema
from forebay.formats.sources.arrow import field_of
from forebay.formats.sources.csv import CsvFiles
from forebay.formats.sources.images import image_jobs, probe_images
from forebay.formats.sources.listing import InputFile, digest_of, look_up
from forebay.formats.sources.source import Cut, CutRequest, Rejected, nothing_left

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

FILE_COLUMNS = ("file", "file_name", "filename")


@dataclass(frozen=True)
class ImageList:
    """Images of one folder, in the order of their names, or of the rows of `labels`.

    `labels` is a CSV file with a column `file` (`file_name` and `filename` do too) of names
    relative to `root`; its other columns become fields. A text column `label` becomes an int64
    that counts its values in sorted order, as in an image tree.
    """

    root: Path
    files: Sequence[InputFile]
    labels: Path | None = None
    skip_bad: bool = False
    kind = "image list"
    holds_images = True
    shuffled = True

    @property
    def digest(self) -> str:
        """Over names, sizes and times of all files, that of labels included."""
        files = list(self.files)
        if self.labels is not None:
            table = look_up(self.labels, f"labels:{self.labels.name}")
            files += [table] if table else []
        return digest_of(self.kind, files)

    def cut(self, request: CutRequest) -> Cut:
        """Field `image`, and those of the CSV file."""
        if self.labels is None:
            probed = probe_images(self.root, self.files, self.skip_bad)
            jobs = image_jobs(self.root, probed.images, {}, request)
            return Cut(Schema((probed.field(),)), jobs, probed.rejected)
        names, fields, columns = _read_labels(self.labels)
        known = {f.name: f for f in self.files}
        missing = [Rejected(n, "no such file") for n in names if n not in known]
        if missing and not self.skip_bad:
            row = names.index(missing[0].name) + 1
            raise SourceError(
                f"{self.labels} names {len(missing)} files that are not in {self.root}, the first "
                f"{missing[0].name!r} in row {row}; correct them, or skip them with --skip-bad"
            )
        if missing and not any(n in known for n in names):
            raise SourceError(nothing_left(missing))
        wanted = [known[n] for n in dict.fromkeys(names) if n in known]
        probed = probe_images(self.root, wanted, self.skip_bad)
        good = {f.name for f in probed.images}
        rows = [i for i, n in enumerate(names) if n in good]
        others = {f.name: [columns[f.name][i] for i in rows] for f in fields}
        images = [known[names[i]] for i in rows]
        jobs = image_jobs(self.root, images, others, request)
        return Cut(Schema((probed.field(), *fields)), jobs, (*missing, *probed.rejected))


def _read_labels(path: Path) -> tuple[list[str], list[Field], dict[str, Sequence[Any]]]:
    """(names of files, other fields, their values)."""
    try:
        file = look_up(path, path.name)
        table = CsvFiles(path.parent, [file] if file else []).table(FILE_COLUMNS)
    except SourceError as e:
        raise SourceError(f"cannot read labels from {path}: {e}") from e
    key = next((c for c in FILE_COLUMNS if c in table.column_names), None)
    if key is None:
        raise SourceError(
            f"{path} has columns {', '.join(table.column_names)}, but none of the name 'file' "
            "with the images' names; rename the column that holds them"
        )
    names = [str(v) for v in table.column(key).to_pylist()]
    for row, name in enumerate(names, 1):
        path_parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in path_parts:
            raise SourceError(f"{path} row {row}: {name!r} leads out of the folder of images")
    names = [str(PurePosixPath(n)) for n in names]
    fields, columns = [], {}
    for column in (c for c in table.column_names if c != key):
        field, values = _column(table, column, str(path))
        fields.append(field)
        columns[column] = values
    return names, fields, columns


def _column(table: pa.Table, name: str, where: str) -> tuple[Field, Sequence[Any]]:
    column = table.column(name)
    field = field_of(table.schema.field(name).with_nullable(column.null_count > 0), where)
    values: list[Any] = column.to_pylist()
    if name == "label" and field.kind == "text" and not field.nullable:
        classes = tuple(sorted(set(values)))
        number = {c: i for i, c in enumerate(classes)}
        return Field(name, "fixed", "int64", classes=classes), [number[v] for v in values]
    return field, values
