"""Shards made and read back, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from forebay.formats.codecs.none import NoCodec
from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.recordio.reader import RecordIOReader
from forebay.formats.recordio.writer import RecordIOWriter
from forebay.formats.storage.local import LocalSource

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.formats.codecs.codec import Codec
    from forebay.formats.record import Field, Schema
    from forebay.formats.shard import ShardEntry

Rows = Sequence[tuple[Any, ...]]


def column_of(field: Field, values: Sequence[Any]) -> Column:
    valid = np.array([v is not None for v in values], np.bool_)
    mask = None if valid.all() else valid
    if field.kind == "fixed":
        out = np.zeros((len(values), *field.shape), field.element)
        for i, v in enumerate(values):
            if v is not None:
                out[i] = v
        return FixedColumn(out, mask)
    arrays = [_elements(field, v) for v in values]
    lengths = np.array([len(a) for a in arrays], np.int64)
    # A gap before each value: a column need not be dense.
    gap = np.zeros(1, field.element)
    spaced = np.concatenate([gap, *(x for a in arrays for x in (a, gap))])
    return VarColumn(spaced, np.cumsum(lengths + 1) - lengths, lengths, mask)


def _elements(field: Field, value: Any) -> np.ndarray:
    if value is None:
        return np.empty(0, field.element)
    if field.kind == "ragged":
        return np.asarray(value, field.element)
    raw = value.encode() if isinstance(value, str) else value
    return np.frombuffer(raw, np.uint8)


def block_of(schema: Schema, rows: Rows) -> Block:
    columns = {f.name: column_of(f, [r[i] for r in rows]) for i, f in enumerate(schema)}
    return Block(len(rows), columns, 0)


def write_shard(
    folder: Path,
    schema: Schema,
    blocks: Sequence[Rows],
    codec: Codec | None = None,
    probe: Any = None,
) -> ShardEntry:
    writer = RecordIOWriter(folder, "s", schema, codec or NoCodec(), probe)
    for rows in blocks:
        writer.write(block_of(schema, rows))
    return writer.close()


@pytest.fixture(name="block_of")
def block_of_fixture() -> Callable[..., Block]:
    return block_of


@pytest.fixture(name="write_shard")
def write_shard_fixture() -> Callable[..., ShardEntry]:
    return write_shard


@pytest.fixture
def reader_of() -> Callable[..., RecordIOReader]:
    def make(folder: Path, schema: Schema, dictionaries: dict[str, bytes] | None = None) -> Any:
        return RecordIOReader(LocalSource(folder), schema, dictionaries or {})

    return make
