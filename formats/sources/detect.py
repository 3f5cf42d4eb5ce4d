"""Which kind of source a path is, by what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.formats.errors import SourceError
from forebay.formats.sources.arrays import ArrayRows
from forebay.formats.sources.csv import CsvFiles
from forebay.formats.sources.image_list import ImageList
from forebay.formats.sources.image_tree import ImageTree
from forebay.formats.sources.images import IMAGE_SUFFIXES
from forebay.formats.sources.jsonl import JsonLines
from forebay.formats.sources.listing import InputFile, list_files, look_up, said_of
from forebay.formats.sources.numpy_file import open_array
from forebay.formats.sources.parquet import ParquetFiles
from forebay.formats.sources.tokens import TokenFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from forebay.formats.sources.source import Source, SourceOptions

_KINDS = {
    "Parquet": (".parquet", ".pq"),
    "CSV": (".csv", ".tsv", ".tab"),
    "JSONL": (".jsonl", ".ndjson"),
    "array": (".npy", ".bin"),
}
_KIND_OF = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes}
_LABEL_FILES = ("labels.csv", "metadata.csv")
_WANTED = (
    "give a folder of images (one folder a class, or all in one), or Parquet, CSV, JSONL, .npy or "
    ".bin files"
)


def detect(path: Path, options: SourceOptions) -> Source:
    """The source at a path.

    Raises:
        SourceError: nothing is there, or nothing that can be packed, or it could be several
            things; says what was found.
    """
    path = path.absolute()
    if not path.exists():
        raise SourceError(f"no such file or folder: {path}; check the path")
    source = _folder(path, options) if path.is_dir() else _file(path, options)
    _check_options(source, options)
    return source


def _file(path: Path, options: SourceOptions) -> Source:
    file = look_up(path, path.name)
    if file is None or file.fault:
        raise SourceError(f"cannot read {path}: {file.fault if file else 'a folder'}")
    kind = _KIND_OF.get(file.suffix)
    if kind is None:
        raise SourceError(f"{path} is no kind of file that can be packed; {_WANTED}")
    return _tables(path.parent, [file], kind, options)


def _folder(root: Path, options: SourceOptions) -> Source:
    files = list_files(root)
    if not files:
        raise SourceError(f"{root} is empty: there is nothing to pack; {_WANTED}")
    if options.labels is not None:
        labels = options.labels.absolute()
        if not labels.is_file():
            raise SourceError(f"no such file: {labels}; give --labels a CSV file")
        return ImageList(root, files, labels, options.skip_bad)
    kinds = {_KIND_OF.get(f.suffix, "other") for f in files}
    if len(kinds) == 1 and "other" not in kinds:
        return _tables(root, files, kinds.pop(), options)
    if any(f.suffix in IMAGE_SUFFIXES for f in files):
        return _images(root, files, options)
    raise SourceError(
        f"{root} holds {said_of(files)}, which is no one kind of source; {_WANTED}, alone in a "
        "folder"
    )


def _images(root: Path, files: list[InputFile], options: SourceOptions) -> Source:
    labels = next((f for f in files if f.name in _LABEL_FILES), None)
    if labels is not None:
        rest = [f for f in files if f is not labels]
        return ImageList(root, rest, root / labels.name, options.skip_bad)
    tables = [f for f in files if f.suffix in _KIND_OF]
    if tables and not options.skip_bad:
        raise SourceError(
            f"{root} holds {said_of(files)}: images and other data. If {tables[0].name} gives the "
            f"images' labels, say --labels {root / tables[0].name}; else move one of the two away"
        )
    loose = [f for f in files if not f.top]
    if len(loose) == len(files):
        return ImageList(root, files, None, options.skip_bad)
    pictures = [f for f in loose if f.suffix in IMAGE_SUFFIXES]
    if pictures:
        raise SourceError(
            f"{root} holds {len(pictures)} images beside folders of images: it could be a list or "
            f"a tree of classes; move {pictures[0].name} and the like into a folder, or the "
            "folders away"
        )
    return ImageTree(root, files, options.skip_bad)


def _tables(root: Path, files: Sequence[InputFile], kind: str, options: SourceOptions) -> Source:
    match kind:
        case "Parquet":
            return ParquetFiles(root, files)
        case "CSV":
            return CsvFiles(root, files)
        case "JSONL":
            return JsonLines(root, files)
    return _arrays(root, files, options)


def _arrays(root: Path, files: Sequence[InputFile], options: SourceOptions) -> Source:
    found, forms = [], set()
    for file in files:
        if file.fault:
            raise SourceError(f"cannot read {root / file.name}: {file.fault}")
        described, array = open_array(root / file.name, options.dtype)
        found.append(described)
        tokens = array.ndim == 1 and array.dtype.kind in "iu"
        forms.add("tokens" if tokens else (array.dtype.name, array.shape[1:]))
        if len(forms) > 1:
            raise SourceError(
                f"{root / file.name} holds {array.dtype} of shape {array.shape}, other files "
                "something else: pack arrays of one dtype and row shape together"
            )
    form = forms.pop()
    if isinstance(form, str):
        return TokenFiles(files, found, options.chunk_tokens, options.eos)
    return ArrayRows(files, found, form[0])


def _check_options(source: Source, options: SourceOptions) -> None:
    """Refuses what was said but means nothing to the source."""
    wrong = ""
    if options.labels is not None and not isinstance(source, ImageList):
        wrong = "--labels is for a folder of images"
    if not isinstance(source, TokenFiles):
        said = {"--chunk-tokens": options.chunk_tokens, "--eos": options.eos}
        wrong = next((f"{k} is for token files" for k, v in said.items() if v is not None), wrong)
    if options.dtype is not None and not isinstance(source, TokenFiles | ArrayRows):
        wrong = "--dtype is for .bin files"
    if wrong:
        raise SourceError(f"{wrong}, and the source is {source.kind}; leave it out")
