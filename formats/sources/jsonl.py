"""JSON Lines files: an object a line, types that fit every line, staged as an Arrow table."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import json as arrow_json

from forebay.formats.errors import SourceError
from forebay.formats.sources.listing import InputFile, check_readable, digest_of, unreadable
from forebay.formats.sources.staged import STAGE, cut_stage, write_stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forebay.formats.sources.source import Cut, CutRequest

_EXACT = 1 << 53
_READ_BYTES = 16 << 20
_LONGEST_LINE = 1 << 30
# Integers of fewer digits fit every type; others are looked at one by one.
_LONG = re.compile(rb"[0-9]{16}")
_ROW = re.compile(r"in row ([0-9]+)")


@dataclass(frozen=True)
class JsonLines:
    """JSONL files, in the order of their names and lines.

    A field is int64, float64, bool, text, or a list of numbers, whichever holds it in every line;
    it may be null where a line has none. An integer that its field's type does not hold exactly is
    refused.
    """

    root: Path
    files: Sequence[InputFile]
    kind = "JSONL"
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
            arrow = self._types(where)
            write_stage(request.stage, arrow, self._typed(arrow))
        return cut_stage(request.stage / STAGE, request, where)

    def _chunks(self) -> Iterator[_Chunk]:
        for file in self.files:
            yield from _chunks(self.root / file.name)

    def _types(self, where: str) -> pa.Schema:
        found: pa.Schema | None = None
        for chunk in self._chunks():
            table = chunk.parse(None)
            new = pa.schema([_field(table, name) for name in table.column_names])
            found = new if found is None else _joined(found, new, chunk)
        if found is None:
            raise SourceError(f"{where} has no rows: there is nothing to pack")
        return pa.schema(
            [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in found]
        )

    def _typed(self, arrow: pa.Schema) -> Iterator[pa.RecordBatch]:
        loose = pa.schema([f.with_nullable(True) for f in arrow])
        for chunk in self._chunks():
            chunk.check_integers(arrow)
            table = chunk.parse(loose).select(arrow.names)
            yield pa.RecordBatch.from_arrays(
                [c.combine_chunks() for c in table.columns], schema=arrow
            )


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Whole lines of a file; `line` is the number of the first, from 1."""

    path: Path
    data: bytes
    line: int

    def parse(self, arrow: pa.Schema | None) -> pa.Table:
        """The lines as a table of this schema, or of the types that they suggest."""
        read = arrow_json.ReadOptions(use_threads=False, block_size=len(self.data) + 1)
        options = arrow_json.ParseOptions(explicit_schema=arrow)
        try:
            return arrow_json.read_json(pa.BufferReader(self.data), read, options)
        except pa.ArrowInvalid as e:
            raise self._error(str(e)) from e

    def check_integers(self, arrow: pa.Schema) -> None:
        """Raises SourceError, naming line and field, where an integer would become another number.

        Arrow reads integers as float64 wherever one of their field is a float or too large.
        """
        if not any(_floats(f.type) for f in arrow) or not _LONG.search(self.data):
            return
        for offset, line in enumerate(self.data.split(b"\n")):
            if not _LONG.search(line):
                continue
            why = _fault(line)
            if why:
                raise SourceError(
                    f"{self.path} line {self.line + offset}: {why}; correct it and pack again"
                )
            record = json.loads(line)
            for field in arrow:
                lost = _lost(record.get(field.name)) if _floats(field.type) else None
                if lost is not None:
                    raise SourceError(
                        f"{self.path} line {self.line + offset}: field {field.name!r} has the "
                        f"integer {lost}, which float64, the type that holds the field's other "
                        "values, does not hold exactly: write the field as text in every line, or "
                        "all its values as integers of at most 64 bits with a sign"
                    )

    def _error(self, said: str) -> SourceError:
        row = _ROW.search(said)
        wanted = int(row[1]) if row else -1
        number = 0
        for offset, line in enumerate(self.data.split(b"\n")):
            if not line.strip():
                continue
            why = _fault(line)
            if why or number == wanted:
                why = why or _ROW.sub("", said).removeprefix("JSON parse error: ").strip(" .")
                return SourceError(
                    f"{self.path} line {self.line + offset}: {why}; correct it and pack again"
                )
            number += 1
        return SourceError(f"{self.path} from line {self.line} on: {said}; correct it")


def _floats(type_: pa.DataType) -> bool:
    while pa.types.is_list(type_):
        type_ = type_.value_type
    return bool(pa.types.is_floating(type_))


def _lost(value: object) -> int | None:
    """The first integer in a number or in lists of them that float64 may not hold, or None."""
    if isinstance(value, list):
        return next((n for n in map(_lost, value) if n is not None), None)
    if isinstance(value, int) and abs(value) > _EXACT:
        return value
    return None


def _fault(line: bytes) -> str:
    """Why a line is no JSON object, or ""."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as e:
        return f"not JSON: {e}"
    return "" if isinstance(value, dict) else f"not an object but {type(value).__name__}"


def _chunks(path: Path) -> Iterator[_Chunk]:
    line = 1
    try:
        with open(path, "rb") as file:
            rest = b""
            while True:
                data = file.read(_READ_BYTES)
                end = data.rfind(b"\n") + 1
                if not data:
                    whole, rest = rest, b""
                elif not end:
                    whole, rest = b"", rest + data
                else:
                    whole, rest = rest + data[:end], data[end:]
                if len(rest) > _LONGEST_LINE:
                    raise SourceError(f"{path} has a line of more than {_LONGEST_LINE} bytes")
                if whole.strip():
                    yield _Chunk(path, whole, line)
                line += whole.count(b"\n")
                if not data:
                    return
    except OSError as e:
        raise unreadable(path, e) from e


def _field(table: pa.Table, name: str) -> pa.Field:
    column = table.column(name)
    type_ = column.type
    # What looks like a date stays the text that it is.
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_) or pa.types.is_time(type_):
        type_ = pa.string()
    return pa.field(name, type_, nullable=column.null_count > 0)


def _joined(found: pa.Schema, new: pa.Schema, chunk: _Chunk) -> pa.Schema:
    """Both schemas in one; a field that only one has may be null."""
    both = set(found.names) & set(new.names)

    def loose(schema: pa.Schema) -> pa.Schema:
        return pa.schema([f if f.name in both else f.with_nullable(True) for f in schema])

    try:
        return pa.unify_schemas([loose(found), loose(new)], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as e:
        raise SourceError(
            f"{chunk.path}, lines from {chunk.line} on, do not fit the lines before: {e}; "
            "give each field one type"
        ) from e
