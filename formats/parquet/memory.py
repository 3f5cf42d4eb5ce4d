"""How much memory decoding takes, from a footer alone, before anything is allocated.

What a block holds once decoded is bounded by the bytes of its pages, except where pages are
smaller than what they stand for: runs and bit-packing (bounded by the number of values) and
dictionaries of strings (which are read as dictionaries, not expanded). DELTA_BYTE_ARRAY pages,
whose strings share prefixes, and nested columns of kind "other" are estimates only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as types

from forebay.formats.parquet.metadata import BYTE_ARRAY, Chunk, FileMetadata, Leaf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_OBJECT = 120  # bytes of a small Python object with its place in a list
_SLACK = 1 << 14  # of a column: alignment, headers, first sizes of growing buffers


def block_memory(metadata: FileMetadata, arrow: pa.Schema) -> NDArray[np.int64]:
    """(row groups,) bytes that each row group's columns hold once decoded, at most."""
    return np.array(
        [resident_bytes(metadata, i, g.chunks, arrow) for i, g in enumerate(metadata.groups)],
        np.int64,
    )


def resident_bytes(
    metadata: FileMetadata, block: int, chunks: Iterable[Chunk], arrow: pa.Schema
) -> int:
    """Bytes that these chunks of a row group hold once decoded, at most."""
    rows = metadata.groups[block].rows
    kinds = {f.name: f.type for f in arrow}
    return sum(
        _resident(c, metadata.leaves[c.leaf], rows, kinds.get(metadata.leaves[c.leaf].path[0]))
        for c in chunks
    )


def working_bytes(
    metadata: FileMetadata, block: int, chunks: Iterable[Chunk], arrow: pa.Schema
) -> int:
    """Bytes that decoding these chunks takes for a while on top of `resident_bytes`, at most."""
    rows = metadata.groups[block].rows
    kinds = {f.name: f.type for f in arrow}
    total = 0
    for chunk in chunks:
        leaf = metadata.leaves[chunk.leaf]
        slots = _slots(chunk, rows, kinds.get(leaf.path[0]))
        # Levels are 2 bytes a value, in buffers that double.
        levels = 4 * (leaf.levels > 0) + 6 * leaf.repeated
        # Growing buffers are cut to size by a copy at the end; int64 starts are made of offsets.
        grown = chunk.uncompressed if leaf.physical == BYTE_ARRAY else leaf.width * slots
        # A dictionary goes through a table of its own that doubles.
        pages = chunk.uncompressed * (chunk.compressed + 2 * chunk.dictionary)
        total += grown + pages + slots * levels + _SLACK
        total += 16 * rows * _variable(leaf)
    return total


def _resident(chunk: Chunk, leaf: Leaf, rows: int, type_: pa.DataType | None) -> int:
    slots = _slots(chunk, rows, type_)
    # Validity bits and a byte a row; starts, lengths and Arrow's offsets of 4 or 8 bytes.
    around = slots // 8 + rows + 256
    if _variable(leaf):
        around += (24 + 8 * chunk.dictionary) * (rows + 1)
    values = chunk.uncompressed if leaf.physical == BYTE_ARRAY else (leaf.width * slots)
    if leaf.physical == 0:
        values += slots // 8
    if leaf.levels and leaf.physical != BYTE_ARRAY:
        # Where there are nulls, the values are copied to put zeros in their places.
        values *= 2
    if type_ is not None and not _plain(type_):
        return 2 * values + around + _OBJECT * slots
    return values + around


def _variable(leaf: Leaf) -> bool:
    """Whether values have starts and lengths."""
    return leaf.physical == BYTE_ARRAY or leaf.repeated


def _slots(chunk: Chunk, rows: int, type_: pa.DataType | None) -> int:
    """Places for values that decoding makes: nulls in lists of fixed size take a whole list."""
    if type_ is None:
        return chunk.values
    if types.is_fixed_size_list(type_) and not types.is_nested(type_.value_type):
        return max(chunk.values, rows * int(type_.list_size))
    slots = max(chunk.values, rows)
    waiting = [type_]
    while waiting:
        inner = waiting.pop()
        if types.is_fixed_size_list(inner):
            slots *= int(inner.list_size)
        waiting += [inner.field(i).type for i in range(inner.num_fields)]
    return slots


def _plain(type_: pa.DataType) -> bool:
    """Whether columns of this type become arrays, not Python objects."""
    if types.is_struct(type_):
        return {f.name for f in type_} <= {"bytes", "path"}
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return _plain(type_.value_type) and not types.is_nested(type_.value_type)
    return bool(
        types.is_integer(type_)
        or types.is_floating(type_)
        or types.is_boolean(type_)
        or types.is_string(type_)
        or types.is_large_string(type_)
        or types.is_binary(type_)
        or types.is_large_binary(type_)
    )
