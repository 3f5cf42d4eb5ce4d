"""CSV files: one header, types that fit every value of a column, staged as an Arrow table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from forebay.formats.errors import SourceError
from forebay.formats.sources.listing import InputFile, check_readable, digest_of, unreadable
from forebay.formats.sources.staged import STAGE, cut_stage, write_stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forebay.formats.sources.source import Cut, CutRequest

# Tried in this order: what reads as a whole number is one, and "true" is no number.
_TYPES = (pa.int64(), pa.uint64(), pa.bool_(), pa.float64())
_INTEGER = "^(0|-?[1-9][0-9]*)$"
_EXACT = 2.0**53
_READ_BYTES = 16 << 20


@dataclass(frozen=True)
class CsvFiles:
    """CSV (or, by suffix, TSV) files with the same header, in the order of their names.

    A column is int64, uint64, bool or float64 where each of its values reads as one and nothing is
    lost, else text: `02134`, `+1` and integers that no type holds exactly stay as they are written.
    An empty cell is null in a column of numbers and empty text in one of text.
    """

    root: Path
    files: Sequence[InputFile]
    kind = "CSV"
    holds_images = False
    shuffled = False

    @property
    def digest(self) -> str:
        """Over names, sizes and times of all files."""
        return digest_of(self.kind, self.files)

    def cut(self, request: CutRequest) -> Cut:
        """Reads all files twice: for the types, then into the stage."""
        check_readable(self.root, self.files)
        where = str(self.root if len(self.files) > 1 else self.root / self.files[0].name)
        if not (request.stage / STAGE).exists():
            guesses = self._guesses()
            arrow = pa.schema([g.field() for g in guesses])
            write_stage(request.stage, arrow, self._typed(arrow))
        return cut_stage(request.stage / STAGE, request, where)

    def table(self, texts: Sequence[str] = ()) -> pa.Table:
        """All rows, typed; the columns named in `texts` are text."""
        arrow = pa.schema([g.field(g.name in texts) for g in self._guesses()])
        return pa.Table.from_batches(self._typed(arrow), arrow)

    def _guesses(self) -> list[_Guess]:
        guesses: list[_Guess] = []
        for file in self.files:
            names = _header(self.root / file.name)
            if not guesses:
                guesses = [_Guess(n) for n in names]
            if names != [g.name for g in guesses]:
                raise SourceError(
                    f"{self.root / file.name} has columns {', '.join(names)}, but "
                    f"{self.files[0].name} has {', '.join(g.name for g in guesses)}: "
                    "pack them apart, or give them the same header"
                )
            types = {n: pa.string() for n in names}
            for batch in _batches(self.root / file.name, types, nulls=True):
                for guess, column in zip(guesses, batch.columns, strict=True):
                    guess.take(column)
        return guesses

    def _typed(self, arrow: pa.Schema) -> Iterator[pa.RecordBatch]:
        for file in self.files:
            types = {f.name: f.type for f in arrow}
            for batch in _batches(self.root / file.name, types, nulls=False):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=arrow)


@dataclass(slots=True)
class _Guess:
    """The types that every value of a column so far reads as."""

    name: str
    fits: list[pa.DataType] = field(default_factory=lambda: list(_TYPES))
    values: int = 0
    nulls: int = 0

    def take(self, column: pa.Array) -> None:
        self.nulls += column.null_count
        self.values += len(column) - column.null_count
        self.fits = [t for t in self.fits if _reads_as(column, t)]

    def field(self, text: bool = False) -> pa.Field:
        if text or not self.fits or not self.values:
            return pa.field(self.name, pa.string(), nullable=False)
        return pa.field(self.name, self.fits[0], nullable=self.nulls > 0)


def _reads_as(column: pa.Array, type_: pa.DataType) -> bool:
    if pa.types.is_boolean(type_):
        words = pa.array(["true", "false", "True", "False", "TRUE", "FALSE"])
        return _all(pc.is_in(column.drop_null(), words))
    texts = column.drop_null()
    try:
        numbers = pc.cast(texts, type_)
    except pa.ArrowInvalid:
        return False
    if pa.types.is_integer(type_):
        return _all(pc.match_substring_regex(texts, _INTEGER))
    return _kept_as_float(texts, numbers)


def _kept_as_float(texts: pa.Array, numbers: pa.Array) -> bool:
    """Whether texts that read as these float64 mean just that."""
    whole = pc.match_substring_regex(texts, r"^[+-]?[0-9]+$")
    sound = pc.and_(pc.match_substring_regex(texts, _INTEGER), pc.less(pc.abs(numbers), _EXACT))
    padded = pc.match_substring_regex(texts, r"^[+-]?0[0-9]")
    # What is too large for a float reads as infinite.
    lost = pc.and_(pc.is_inf(numbers), pc.match_substring_regex(texts, "[0-9]"))
    return _all(pc.and_(pc.or_(pc.invert(whole), sound), pc.invert(pc.or_(padded, lost))))


def _all(flags: pa.Array) -> bool:
    return bool(pc.all(flags, min_count=0).as_py())


def _parse(path: Path) -> arrow_csv.ParseOptions:
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    return arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)


def _header(path: Path) -> list[str]:
    try:
        with arrow_csv.open_csv(
            path,
            arrow_csv.ReadOptions(use_threads=False, block_size=_READ_BYTES),
            _parse(path),
        ) as reader:
            names: list[str] = reader.schema.names
    except (pa.ArrowInvalid, OSError) as e:
        # Types are not settled yet: a fault in the first rows is told by the read that follows.
        names = _header_alone(path, e)
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SourceError(f"{path} has two columns of the name {twice[0]!r}: rename one")
    return names


def _header_alone(path: Path, error: Exception) -> list[str]:
    try:
        with open(path, "rb") as f:
            line = f.readline(1 << 20)
        parsed = arrow_csv.read_csv(pa.BufferReader(line), parse_options=_parse(path))
    except OSError as e:
        raise unreadable(path, e) from e
    except pa.ArrowInvalid:
        raise SourceError(f"cannot read {path}: {error}; correct it and pack again") from error
    names: list[str] = parsed.schema.names
    return names


def _batches(path: Path, types: dict[str, pa.DataType], nulls: bool) -> Iterator[pa.RecordBatch]:
    convert = arrow_csv.ConvertOptions(
        column_types=types,
        null_values=[""],
        strings_can_be_null=nulls,
        true_values=["true", "True", "TRUE"],
        false_values=["false", "False", "FALSE"],
    )
    # One thread: more would lose the row number in messages.
    read = arrow_csv.ReadOptions(use_threads=False, block_size=_READ_BYTES)
    try:
        with arrow_csv.open_csv(path, read, _parse(path), convert) as reader:
            yield from reader
    except pa.ArrowInvalid as e:
        raise SourceError(f"cannot read {path}: {e}; correct it and pack again") from e
    except OSError as e:
        raise unreadable(path, e) from e
