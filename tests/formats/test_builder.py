"""Records and columns into blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.formats.builder import BlockBuilder
from forebay.formats.column import Block, FixedColumn, VarColumn, row_at
from forebay.formats.errors import SchemaError
from forebay.formats.record import Schema
from forebay.formats.splice import compact, cut, join, own

SCHEMA = Schema.parse({"名": "text?", "n": "int32", "x": "float32[2]?", "ids": "uint16[*]"})
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "名": st.none() | st.text(max_size=20),
            "n": st.integers(-(2**31), 2**31 - 1),
            "x": st.none() | st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=2),
            "ids": st.lists(st.integers(0, 65535), max_size=9),
        }
    ),
    max_size=40,
)


def plain(row):
    return tuple(v.tolist() if isinstance(v, np.ndarray) else v for v in row)


def rows_of(blocks, schema=SCHEMA):
    return [plain(row_at(schema, b, i)) for b in blocks for i in range(b.rows)]


def built(records, size=100, schema=SCHEMA):
    builder = BlockBuilder(schema, size)
    blocks = [b for r in records if (b := builder.add(r)) is not None]
    return [*blocks, *([last] if (last := builder.flush()) else [])]


@settings(deadline=None)
@given(RECORDS, st.integers(1, 200))
def test_records_come_back_in_order(records, size):
    expected = [tuple(r[name] for name in SCHEMA.names) for r in records]
    assert rows_of(built(records, size)) == expected


@settings(deadline=None)
@given(RECORDS, st.integers(1, 200), st.lists(st.integers(0, 40), max_size=4))
def test_columns_are_cut_where_records_are(records, size, cuts):
    whole = built(records, 10**9)
    builder = BlockBuilder(SCHEMA, size)
    blocks = []
    bounds = sorted({0, len(records), *(c for c in cuts if c < len(records))})
    for start, stop in pairwise(bounds):
        blocks += builder.add_columns(cut(whole[0], start, stop))
    blocks += [last] if (last := builder.flush()) else []
    alike = built(records, size)
    assert [b.rows for b in blocks] == [b.rows for b in alike]
    assert rows_of(blocks) == rows_of(alike)
    assert builder.records == len(records)


@settings(deadline=None)
@given(RECORDS)
def test_compact_lays_values_end_to_end(records):
    blocks = built(records, 10**9)
    if not blocks:
        return
    column = blocks[0].columns["ids"]
    order = np.arange(len(column))[::-1]
    turned = VarColumn(column.values, column.starts[order], column.lengths[order])
    expected = [v for r in reversed(records) for v in r["ids"]]
    assert compact(turned).tolist() == expected


def test_compact_of_long_values_out_of_order():
    values = np.arange(2000, dtype=np.int64)
    column = VarColumn(values, np.array([1000, 0]), np.array([1000, 1000]))
    assert compact(column).tolist() == [*range(1000, 2000), *range(1000)]


def test_rows_kept_back_do_not_follow_the_callers_buffer():
    values = np.frombuffer(bytearray(b"abcdef"), np.uint8).copy()
    schema = Schema.parse({"b": "bytes"})
    column = VarColumn(values, np.array([0, 3]), np.array([3, 3]))
    builder = BlockBuilder(schema, 100)
    assert builder.add_columns(Block(2, {"b": column}, 6)) == []
    values[:] = 0
    block = builder.flush()
    assert block is not None
    assert rows_of([block], schema) == [(b"abc",), (b"def",)]


def test_records_and_columns_mix_in_order():
    schema = Schema.parse({"n": "int64"})
    builder = BlockBuilder(schema, 32)
    first = builder.add({"n": 0})
    blocks = builder.add_columns(Block(6, {"n": FixedColumn(np.arange(1, 7))}, 48))
    second = builder.add({"n": 7})
    assert first is None
    assert [b.rows for b in blocks] == [4]
    assert rows_of([*blocks, second], schema) == [(i,) for i in range(8)]
    assert builder.flush() is None


def test_image_paths_become_a_companion_column():
    schema = Schema.parse({"image": "jpeg"})
    builder = BlockBuilder(schema)
    builder.add({"image": (b"one", "a/ü.jpg")})
    builder.add({"image": b"two"})
    builder.add({"image": (b"three", None)})
    block = builder.flush()
    assert block is not None
    path = block.columns["image.path"]
    assert path.valid.tolist() == [True, False, False]
    assert path.view(0).tobytes().decode() == "a/ü.jpg"
    later = BlockBuilder(schema)
    later.add_columns(block)
    later.add({"image": b"four"})
    whole = later.flush()
    assert whole is not None
    assert whole.columns["image.path"].valid.tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"n": 1, "ids": []}, None),
        ({"n": None, "ids": []}, "record 1, field 'n': got None; write 'int32.' to allow nulls"),
        ({"ids": []}, "record 1, field 'n': got no value"),
        ({"n": 1, "ids": [], "z": 1}, "record 1 has 'z', not among the fields 名, n, x, ids"),
        ({"n": 2**31, "ids": []}, "record 1, field 'n': 2147483648 does not fit int32"),
        ({"n": 1, "ids": [], "x": [1]}, "record 1, field 'x': expected shape"),
        ({"n": (b"", "p"), "ids": []}, "record 1, field 'n': expected int32"),
    ],
)
def test_a_bad_record_is_named_and_leaves_no_trace(record, said):
    builder = BlockBuilder(SCHEMA)
    builder.add({"名": "a", "n": 0, "x": None, "ids": [1]})
    if said is None:
        builder.add(record)
    else:
        with pytest.raises(SchemaError, match=said):
            builder.add(record)
    builder.add({"名": "b", "n": 2, "ids": [2]})
    block = builder.flush()
    assert block is not None
    middle = [(None, 1, None, [])] if said is None else []
    assert rows_of([block]) == [("a", 0, None, [1]), *middle, ("b", 2, None, [2])]


@pytest.mark.parametrize("value", [(b"x",), (b"x", 3), (b"x", "a", "b"), (None, "a"), ("x", "a")])
def test_a_bad_image_tuple_is_refused(value):
    with pytest.raises(SchemaError, match="record 0, field 'image'"):
        BlockBuilder(Schema.parse({"image": "png"})).add({"image": value})


ONE = np.array([0]), np.array([2])


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (FixedColumn(np.zeros(1, np.uint8)), "expected a VarColumn, got FixedColumn"),
        (VarColumn(np.zeros(2, np.int8), *ONE), "values must be 1-D uint8"),
        (VarColumn(np.zeros(1, np.uint8), *ONE), "row 0 takes elements 0 to 2 of 1"),
        (VarColumn(np.zeros(9, np.uint8), np.array([-1]), np.array([1])), "row 0 takes"),
        (VarColumn(np.zeros(9, np.uint8), np.array([5]), np.array([-1])), "row 0 takes"),
        (VarColumn(np.zeros(9, np.uint8), np.zeros(2, int), np.zeros(2, int)), "2 values for 1"),
        (VarColumn(np.array([0xC3, 0x28], np.uint8), *ONE), "row 0 is not UTF-8"),
        (VarColumn(np.zeros(2, np.uint8), *ONE, np.zeros(1, bool)), "has nulls"),
        (VarColumn(np.zeros(2, np.uint8), *ONE, np.zeros(1, int)), "valid must be"),
    ],
)
def test_bad_columns_are_refused(column, said):
    with pytest.raises(SchemaError, match=said):
        BlockBuilder(Schema.parse({"t": "text"})).add_columns(Block(1, {"t": column}, 9))


def test_text_may_not_begin_inside_a_character():
    column = VarColumn(np.frombuffer("ü".encode(), np.uint8), np.array([0, 1]), np.array([1, 1]))
    with pytest.raises(SchemaError, match="row 1 is not UTF-8: it begins inside a character"):
        BlockBuilder(Schema.parse({"t": "text"})).add_columns(Block(2, {"t": column}, 9))


def test_missing_and_extra_columns_are_named():
    block = Block(1, {"b": FixedColumn(np.zeros(1))}, 9)
    with pytest.raises(SchemaError, match="missing: a; not among the fields: b"):
        BlockBuilder(Schema.parse({"a": "float64"})).add_columns(block)
    with pytest.raises(SchemaError, match="expected int64, got float64"):
        BlockBuilder(Schema.parse({"b": "int64"})).add_columns(block)


def test_own_shares_no_memory():
    values = np.arange(4)
    copy = own(Block(2, {"n": FixedColumn(values[:2])}, 16))
    assert not np.shares_memory(copy.columns["n"].values, values)


def test_join_of_one_block_is_that_block():
    block = Block(1, {"n": FixedColumn(np.zeros(1))}, 8)
    assert join([block]) is block


def test_block_bytes_below_one_is_refused():
    with pytest.raises(ValueError, match="block_bytes must be at least 1, got 0"):
        BlockBuilder(SCHEMA, 0)
