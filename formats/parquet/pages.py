"""The page headers of one column chunk: checked before the chunk is handed on for decoding."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.formats.errors import LimitExceeded, MalformedShard, ShardError
from forebay.formats.parquet.thrift import STRUCT, CompactReader, ThriftError

MAX_PAGES = 1 << 18
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)
# Field of PageHeader that holds the header proper of each type of page.
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}


@dataclass(frozen=True, slots=True)
class PageHeader:
    """What one page says of itself; sizes in bytes, `values` counts nulls."""

    type: int
    at: int
    body: int
    compressed: int
    uncompressed: int
    values: int
    has_crc: bool


@dataclass(frozen=True, slots=True)
class ChunkPages:
    """What the pages of one column chunk add up to."""

    pages: int
    uncompressed: int
    has_crc: bool


def page_header(chunk: memoryview, at: int) -> PageHeader:
    """The page header that begins at byte `at` of a column chunk.

    Raises:
        ThriftError: there is no page header.
    """
    reader = CompactReader(chunk, at)
    type_, uncompressed, compressed, values = -1, -1, -1, {}
    has_crc = False
    for field, kind in reader.fields():
        if field == 1:
            type_ = reader.integer(kind)
        elif field == 2:
            uncompressed = reader.integer(kind)
        elif field == 3:
            compressed = reader.integer(kind)
        elif field == 4:
            has_crc = True
            reader.integer(kind)
        elif field in (5, 7, 8):
            reader.expect(kind, STRUCT)
            values[field] = _values(reader)
        else:
            reader.skip(kind)
    count = values.get(_HEADER_OF.get(type_, -1), -1) if type_ != _INDEX else 0
    if not 0 <= type_ <= _DATA_V2 or min(uncompressed, compressed, count) < 0:
        raise ThriftError(
            f"a page of type {type_} with {compressed} bytes, {uncompressed} decompressed, "
            f"and {count} values",
            at,
        )
    return PageHeader(type_, at, reader.at, compressed, uncompressed, count, has_crc)


def _values(reader: CompactReader) -> int:
    """num_values, field 1 of each kind of page's header proper; -1 where it is missing."""
    values = -1
    for field, kind in reader.fields():
        if field == 1:
            values = reader.integer(kind)
        else:
            reader.skip(kind)
    return values


def walk_pages(
    chunk: memoryview, num_values: int, uncompressed: int, *, shard: str, block: int, offset: int
) -> ChunkPages:
    """Passes over a column chunk's pages and refuses those that could not be decoded in bounds.

    The metadata's `uncompressed` is what memory was charged for, so pages that claim more, as a
    decompression bomb does, are refused before a byte is decompressed.

    Args:
        chunk: the whole column chunk, from its first page header on.
        num_values: values of the chunk, nulls included, as the footer has it.
        uncompressed: bytes of its pages and their headers decompressed, likewise.
        shard: where the chunk is, for messages.
        block: likewise.
        offset: likewise; of the chunk in the shard, in bytes.

    Raises:
        MalformedShard: a header is damaged, or pages and footer disagree.
        LimitExceeded: more than 262,144 pages.
    """
    at = values = size = pages = 0
    has_crc = True

    def refused(what: str, kind: type[ShardError] = MalformedShard) -> ShardError:
        return kind(
            f"{what}; restore the file from its source or write it again",
            shard=shard, block=block, offset=offset + at,
        )  # fmt: skip

    while values < num_values and at < len(chunk):
        if pages == MAX_PAGES:
            raise refused(f"more than {MAX_PAGES} pages in a column chunk", LimitExceeded)
        try:
            page = page_header(chunk, at)
        except ThriftError as e:
            raise refused(f"not a page header: {e}") from e
        if page.compressed > len(chunk) - page.body:
            raise refused(
                f"a page of {page.compressed} bytes where {len(chunk) - page.body} are left"
            )
        pages += 1
        size += page.body - at + page.uncompressed
        has_crc &= page.has_crc
        if page.type in (_DATA, _DATA_V2):
            values += page.values
        if size > uncompressed:
            raise refused(f"pages of {size} bytes decompressed where the footer has {uncompressed}")
        at = page.body + page.compressed
    if values != num_values:
        raise refused(f"pages with {values} values where the footer has {num_values}")
    return ChunkPages(pages, size, has_crc)
