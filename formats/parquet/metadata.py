"""Parquet's FileMetaData, read within bounds: where each column chunk lies, and what it claims.

The decoder's own accessors end the process on encrypted or missing column metadata instead of
raising, so what it is handed is read here first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.formats.parquet.thrift import LIST, STRUCT, CompactReader, ThriftError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SCHEMA_DEPTH = 64
PHYSICAL_TYPES = range(8)
BYTE_ARRAY = 6
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 4}
_REPEATED = 2
_DICTIONARY_ENCODINGS = {2, 8}
_I32 = 5


class EncryptedError(Exception):
    """The file, or a part of it, needs a key; the message says which."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column. `width` is the bytes of one decoded value; for byte arrays, of its offset."""

    path: tuple[str, ...]
    physical: int
    width: int
    repeated: bool
    levels: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column chunk: `length` bytes at `start`, which hold `values`, nulls included."""

    leaf: int
    start: int
    length: int
    uncompressed: int
    values: int
    compressed: bool
    dictionary: bool


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group; its chunks are in the order of the leaves."""

    rows: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """All of a file's footer that is needed to find and bound its chunks."""

    rows: int
    leaves: tuple[Leaf, ...]
    groups: tuple[RowGroup, ...]


def read_metadata(data: memoryview) -> FileMetadata:
    """FileMetaData from its Thrift bytes.

    Raises:
        ThriftError: not a FileMetaData, or one that contradicts itself.
        EncryptedError: a column's metadata is.
    """
    reader = CompactReader(data)
    rows = -1
    leaves: tuple[Leaf, ...] = ()
    groups: list[RowGroup] = []
    encrypted = False
    for field, kind in reader.fields():
        if field == 2:
            leaves = _leaves(reader, kind)
        elif field == 3:
            rows = reader.integer(kind)
        elif field == 4:
            groups = [_group(reader) for _ in range(reader.items(kind, STRUCT))]
        else:
            encrypted |= field in (8, 9)
            reader.skip(kind)
    if encrypted:
        raise EncryptedError("the file is encrypted with a readable footer")
    if rows != sum(g.rows for g in groups):
        raise ThriftError(
            f"{rows} rows announced where the row groups have {sum(g.rows for g in groups)}", 0
        )
    for i, group in enumerate(groups):
        _check_group(group, leaves, i)
    return FileMetadata(rows, leaves, tuple(groups))


def _group(reader: CompactReader) -> RowGroup:
    rows = -1
    chunks: list[Chunk] = []
    for field, kind in reader.fields():
        if field == 1:
            chunks = [_chunk(reader, i) for i in range(reader.items(kind, STRUCT))]
        elif field == 3:
            rows = reader.integer(kind)
        else:
            reader.skip(kind)
    return RowGroup(rows, tuple(chunks))


def _chunk(reader: CompactReader, leaf: int) -> Chunk:
    chunk = None
    for field, kind in reader.fields():
        if field == 3:
            reader.expect(kind, STRUCT)
            chunk = _column_metadata(reader, leaf)
        elif field in (8, 9):
            raise EncryptedError(f"leaf column {leaf} is encrypted")
        elif field == 1 and len(reader.binary(kind)):
            raise ThriftError("a column chunk that is kept in another file", reader.at)
        elif field != 1:
            reader.skip(kind)
    if chunk is None:
        raise ThriftError("a column chunk without metadata", reader.at)
    return chunk


def _column_metadata(reader: CompactReader, leaf: int) -> Chunk:
    at = {4: 0, 5: -1, 6: -1, 7: -1, 9: -1, 11: 0}
    dictionary = False
    for field, kind in reader.fields():
        if field in at:
            at[field] = reader.integer(kind)
        elif field == 2:
            encodings = [reader.integer(_I32) for _ in range(reader.items(kind, _I32))]
            dictionary = not _DICTIONARY_ENCODINGS.isdisjoint(encodings)
        else:
            reader.skip(kind)
    # An old writer puts the dictionary's page first and says so only here.
    start = min(at[9], at[11]) if at[11] > 0 else at[9]
    return Chunk(leaf, start, at[7], at[6], at[5], at[4] != 0, dictionary)


def _check_group(group: RowGroup, leaves: tuple[Leaf, ...], i: int) -> None:
    if group.rows < 0 or len(group.chunks) != len(leaves):
        raise ThriftError(
            f"row group {i} has {group.rows} rows and {len(group.chunks)} column chunks where "
            f"the schema has {len(leaves)} leaf columns",
            0,
        )
    for chunk, leaf in zip(group.chunks, leaves, strict=True):
        fits = chunk.values >= group.rows if leaf.repeated else chunk.values == group.rows
        if not fits or min(chunk.start, chunk.length, chunk.uncompressed) < 0:
            raise ThriftError(
                f"row group {i}, column {'.'.join(leaf.path)}: {chunk.values} values for "
                f"{group.rows} rows, {chunk.length} bytes at {chunk.start}",
                0,
            )


def _leaves(reader: CompactReader, kind: int) -> tuple[Leaf, ...]:
    """The leaf columns of the flattened tree that FileMetaData keeps, in order."""
    reader.expect(kind, LIST)
    elements = iter([_element(reader) for _ in range(reader.items(kind, STRUCT))])
    root = next(elements, None)
    if root is None:
        raise ThriftError("a schema without a root", reader.at)
    found = list(_walk(elements, root[1], (), False, 0))
    if next(elements, None) is not None:
        raise ThriftError("a schema with more elements than its tree", reader.at)
    return tuple(found)


# One element of the flattened schema: (name, children, physical type, type length, repetition).
_Element = tuple[str, int, int, int, int]


def _walk(
    elements: Iterator[_Element], children: int, path: tuple[str, ...], repeated: bool, levels: int
) -> Iterator[Leaf]:
    if len(path) > MAX_SCHEMA_DEPTH:
        raise ThriftError(f"a schema nested deeper than {MAX_SCHEMA_DEPTH}", 0)
    for _ in range(children):
        element = next(elements, None)
        if element is None:
            raise ThriftError("a schema with fewer elements than its tree", 0)
        name, inner, physical, length, repetition = element
        below = (*path, name)
        many = repeated or repetition == _REPEATED
        deep = levels + (repetition != 0)
        if inner > 0:
            yield from _walk(elements, inner, below, many, deep)
        else:
            width = max(length, 0) if physical == 7 else _WIDTHS.get(physical, -1)
            if width < 0:
                raise ThriftError(f"column {'.'.join(below)} is of unknown type {physical}", 0)
            yield Leaf(below, physical, width, many, deep)


def _element(reader: CompactReader) -> _Element:
    name = ""
    numbers = {1: -1, 2: 0, 3: 0, 5: 0}
    for field, kind in reader.fields():
        if field == 4:
            name = reader.text(kind)
        elif field in numbers:
            numbers[field] = reader.integer(kind)
        else:
            reader.skip(kind)
    return name, numbers[5], numbers[1], numbers[2], numbers[3]
