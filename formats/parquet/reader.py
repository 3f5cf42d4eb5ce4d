"""Reads row groups of Parquet shards: fetched by us, checked, and only then decoded."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forebay.formats.block_memory import BlockMemory, slack
from forebay.formats.column import Block, Column, ObjectColumn, VarColumn
from forebay.formats.errors import LimitExceeded, MalformedShard
from forebay.formats.parquet.chunks import Fetched, Reads, fetch, leaves_of, paths_of, plan_reads
from forebay.formats.parquet.columns import UnfitValuesError, column_of
from forebay.formats.parquet.faults import decoding
from forebay.formats.parquet.footer import PARSED
from forebay.formats.parquet.footer_cache import FooterCache
from forebay.formats.parquet.memory import resident_bytes, working_bytes
from forebay.formats.parquet.metadata import BYTE_ARRAY
from forebay.formats.parquet.own import owned
from forebay.formats.parquet.pages import walk_pages
from forebay.formats.parquet.plain import plain_columns
from forebay.formats.parquet.plan import plan_of
from forebay.formats.record import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from forebay.formats.parquet.chunk_file import ChunkFile
    from forebay.formats.parquet.footer import Footer
    from forebay.formats.parquet.metadata import Chunk
    from forebay.formats.shard import ReadTally, ShardEntry
    from forebay.formats.storage.source import ByteSource

# What a footer alone can claim of a row group, in bytes decoded, before it is refused.
MAX_BLOCK = 1 << 33


class ParquetReader:
    """A `FormatReader` of the Parquet shards of one dataset.

    Args:
        schema: of the dataset; shards that disagree with it are refused.
    """

    record_readable = False

    def __init__(self, source: ByteSource, schema: Schema) -> None:
        self.source = source
        self.schema = schema
        self._footers = FooterCache()
        self.memory = BlockMemory()

    def overhead(self, beside: int, limit: int) -> int:
        """The most bytes of footers kept, to which this also bounds them from now on."""
        bound = min(PARSED * beside, limit)
        self._footers.bound(bound)
        return bound

    def cost(
        self, shard: ShardEntry, block: int, columns: Schema, rows: NDArray[np.int64] | None = None
    ) -> tuple[int, int]:
        """(bytes at rest, bytes in memory) of the `read` with the same arguments, at most.

        The second includes what decoding takes for a while, so it is above the block's `nbytes`.

        Raises:
            ShardError: the footer is damaged, or the row group is above 8 GiB decoded.
            StorageError: the store failed.
        """
        footer = self._footer(shard, block, columns, None)
        costs = plan_of(footer, columns).costs
        cost = costs.get(block)
        if cost is None:
            cost = costs[block] = self._cost(footer, shard, block, columns)
        return cost

    def _cost(
        self, footer: Footer, shard: ShardEntry, block: int, columns: Schema
    ) -> tuple[int, int]:
        if not footer.metadata.groups[block].rows:
            return 0, 0
        reads = plan_reads(footer, shard, block, plan_of(footer, columns).leaves)
        memory = _memory(footer, shard, reads)
        # Buffers that are used again are a little larger than what they hold.
        return reads.nbytes, memory + slack(reads.nbytes) + 2 * slack(memory)

    def read(
        self,
        shard: ShardEntry,
        block: int,
        columns: Schema,
        rows: NDArray[np.int64] | None = None,
        tally: ReadTally | None = None,
    ) -> Block:
        """One row group's columns; each needed chunk is checked whole before it is decoded.

        Foreign shards have no CRCs in a table: their pages' own are checked, and all rows count
        as unchecked where a page read has none.

        Raises:
            ValueError: `rows` was given, which Parquet cannot read by itself.
            ShardError: the bytes are damaged, truncated, malformed or encrypted.
            StorageError: the store failed.
        """
        if rows is not None:
            raise ValueError("single rows of a Parquet row group cannot be read: leave rows out")
        footer = self._footer(shard, block, columns, tally)
        group = footer.metadata.groups[block]
        if not len(columns) or not group.rows:
            return Block(group.rows, _no_rows(footer, columns), 0)
        plan = plan_of(footer, columns)
        reads = plan_reads(footer, shard, block, plan.leaves)
        if block not in plan.costs:
            _memory(footer, shard, reads)
        fetched = fetch(self.source, shard, reads, tally, footer, self.memory.take)
        started = time.perf_counter()
        found: dict[str, Column] = {}
        if not shard.foreign:
            found = plain_columns(fetched, footer, plan.forms, self.memory.take)
        proven = True
        if len(found) < len(columns):
            left = Schema(tuple(f for f in columns if f.name not in found))
            others, proven = _through_arrow(fetched, shard, footer, left)
            found = {name: {**found, **others}[name] for name in columns.names}
        if tally is not None:
            tally.decompress_s += time.perf_counter() - started
        unchecked = 0 if proven or not shard.foreign else group.rows
        return Block(group.rows, found, _held(found), unchecked)

    def _footer(
        self, shard: ShardEntry, block: int, columns: Schema, tally: ReadTally | None
    ) -> Footer:
        if not 0 <= block < len(shard.block_rows):
            raise ValueError(f"{shard.file} has {len(shard.block_rows)} blocks, got block {block}")
        footer = self._footers.get(self.source, shard, tally)
        if columns.names not in footer.plans:
            _check_schema(footer, shard, self.schema.select(columns.names))
        _check_table(footer, shard, block)
        return footer


def _check_table(footer: Footer, shard: ShardEntry, block: int) -> None:
    """Whether the shard table counts what the footer counts."""
    groups, leaves = footer.metadata.groups, len(footer.metadata.leaves)
    if len(shard.block_rows) != len(groups):
        what = f"{len(shard.block_rows)} blocks, the footer {len(groups)} row groups"
    elif shard.block_rows[block] != groups[block].rows:
        what = f"{shard.block_rows[block]} rows in the block, the footer {groups[block].rows}"
    elif not shard.foreign and len(shard.chunk_crc32c) != len(groups) * leaves:
        what = f"{len(shard.chunk_crc32c)} chunks, the footer {len(groups) * leaves}"
    else:
        return
    raise MalformedShard(
        f"the shard table has {what}; one of the two is of another dataset",
        shard=shard.file,
        block=block,
    )


def _check_schema(footer: Footer, shard: ShardEntry, wanted: Schema) -> None:
    known = {f.name: f for f in footer.schema}
    for field in wanted:
        have = known.get(field.name)
        form = (field.kind, field.dtype, field.shape)
        if have is None or (have.kind, have.dtype, have.shape) != form:
            found = "is not in this shard" if have is None else f"is {have.spec} in this shard"
            raise MalformedShard(
                f"field {field.name!r} {found}, {field.spec} in the dataset; take the shard out",
                shard=shard.file,
            )


def _memory(footer: Footer, shard: ShardEntry, reads: Reads) -> int:
    arguments = (footer.metadata, reads.block, reads.chunks, footer.arrow)
    needed = resident_bytes(*arguments) + working_bytes(*arguments)
    if needed > MAX_BLOCK:
        raise LimitExceeded(
            f"a row group that may take {needed} bytes to decode, more than the {MAX_BLOCK} "
            "allowed; write the file again with smaller row groups, or read fewer columns",
            shard=shard.file,
            block=reads.block,
        )
    return needed


def _through_arrow(
    fetched: Fetched, shard: ShardEntry, footer: Footer, columns: Schema
) -> tuple[dict[str, Column], bool]:
    """Columns that Arrow decodes, and whether each of their pages has a CRC of its own."""
    block = fetched.reads.block
    file = fetched.file(shard.bytes)
    taken = set(leaves_of(footer, columns))
    chunks = [c for c in fetched.reads.chunks if c.leaf in taken]
    proven = _walk(file, shard, block, chunks)
    table = _decode(file, shard, footer, block, chunks, columns)
    rows = footer.metadata.groups[block].rows
    if table.num_rows != rows:
        raise MalformedShard(
            f"{table.num_rows} rows where the footer has {rows}; restore the file from "
            "its source or write it again",
            shard=shard.file,
            block=block,
        )
    return _columns(table, columns, shard, block), proven


def _walk(file: ChunkFile, shard: ShardEntry, block: int, chunks: Sequence[Chunk]) -> bool:
    """Whether each page has a CRC of its own; refuses pages that cannot be decoded in bounds."""
    proven = True
    for chunk in chunks:
        pages = walk_pages(
            file.view(chunk.start, chunk.start + chunk.length),
            chunk.values,
            chunk.uncompressed,
            shard=shard.file,
            block=block,
            offset=chunk.start,
        )
        proven &= pages.has_crc
    return proven


def _decode(
    file: ChunkFile,
    shard: ShardEntry,
    footer: Footer,
    block: int,
    chunks: Sequence[Chunk],
    columns: Schema,
) -> pa.Table:
    # Strings stay in their dictionary, so that a page of a few bytes cannot become gigabytes.
    leaves = footer.metadata.leaves
    words = [
        ".".join(leaves[chunk.leaf].path)
        for chunk in chunks
        if chunk.dictionary and leaves[chunk.leaf].physical == BYTE_ARRAY
    ]
    with decoding(f"columns {', '.join(columns.names)}", shard=shard.file, block=block):
        parquet = pq.ParquetFile(
            file,
            metadata=footer.decoder,
            read_dictionary=words or None,
            # Its own reading ahead would start threads, which do not survive a fork.
            pre_buffer=False,
            page_checksum_verification=shard.foreign,
        )
        return parquet.read_row_group(block, columns=paths_of(columns), use_threads=False)


def _no_rows(footer: Footer, columns: Schema) -> dict[str, Column]:
    types = {f.name: f.type for f in footer.arrow}
    return {f.name: column_of(f, pa.chunked_array([], types[f.name])) for f in columns}


def _columns(table: pa.Table, columns: Schema, shard: ShardEntry, block: int) -> dict[str, Column]:
    found: dict[str, Column] = {}
    for field in columns:
        with decoding(f"column {field.name!r}", shard=shard.file, block=block):
            try:
                found[field.name] = owned(column_of(field, table.column(field.name)))
            except UnfitValuesError as e:
                raise MalformedShard(
                    f"{e}; write the file again without it", shard=shard.file, block=block
                ) from e
    return found


def _held(columns: dict[str, Column]) -> int:
    """Bytes that columns keep alive: the whole of each buffer that any of their arrays views."""
    roots: dict[int, int] = {}
    held = 0
    for column in columns.values():
        if isinstance(column, ObjectColumn):
            held += column.nbytes
            continue
        arrays = [column.values] + ([] if column.valid is None else [column.valid])
        if isinstance(column, VarColumn):
            arrays += [column.starts, column.lengths]
        for array in arrays:
            root = _root(array)
            roots[id(root)] = root.nbytes
    return held + sum(roots.values())


def _root(array: NDArray[Any]) -> NDArray[Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
