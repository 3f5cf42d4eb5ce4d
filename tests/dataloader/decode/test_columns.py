"""Fields that need no decoder: copied to their places, nulls told."""

from __future__ import annotations

import numpy as np
import pytest

from forebay.dataloader.decode import columns
from forebay.dataloader.decode.columns import collect, gather, is_dense, variable_rows
from forebay.dataloader.decode.selection import Selection
from forebay.dataloader.flow.errors import DecodeError
from forebay.formats.column import Block, FixedColumn, VarColumn
from forebay.formats.record import Field

ROWS = np.array([3, 0, 2])
PLACES = np.array([1, 4, 0])


def chosen(name, *columns, rows=ROWS, places=PLACES):
    """The same rows of a block for each column; places go on from block to block."""
    blocks = tuple(Block(len(c), {name: c}, c.nbytes) for c in columns)
    bounds = np.arange(len(blocks) + 1) * len(rows)
    all_places = [np.asarray(places) + 5 * i for i in range(len(blocks))]
    return Selection(blocks, bounds, np.tile(rows, len(blocks)), np.concatenate(all_places))


def strings(values, field_dtype=np.uint8, valid=None):
    data = np.concatenate([np.asarray(v, field_dtype) for v in values])
    lengths = np.array([len(v) for v in values], np.int64)
    return VarColumn(data, np.cumsum(lengths) - lengths, lengths, valid)


def collected(field, some, out):
    return collect(field, some, variable_rows(field, some), out)


def test_gather_puts_each_row_in_its_place_and_leaves_the_others():
    column = FixedColumn(np.arange(8, dtype=np.int32).reshape(4, 2))
    out = np.full((5, 2), -1, np.int32)
    assert gather(Field.parse("x", "int32[2]"), chosen("x", column), out) == {}
    assert out.tolist() == [[4, 5], [6, 7], [-1, -1], [-1, -1], [0, 1]]


@pytest.mark.parametrize("step", [2, 3, -2])
def test_rows_that_lie_apart_are_gathered_too(step, monkeypatch):
    apart = FixedColumn(np.arange(48, dtype=np.int32).reshape(-1, 2)[::step][:4])
    near = FixedColumn(np.arange(100, 108, dtype=np.int32).reshape(4, 2))
    out = np.full((10, 2), -1, np.int32)
    by_kernel = []
    kernel = columns.gather_fixed
    monkeypatch.setattr(columns, "gather_fixed", lambda *a: (by_kernel.append(1), kernel(*a)))
    assert gather(Field.parse("x", "int32[2]"), chosen("x", apart, near), out) == {}
    assert out[[1, 4, 0]].tolist() == apart.values[ROWS].tolist()
    assert out[[6, 9, 5]].tolist() == near.values[ROWS].tolist()
    assert (out[[2, 3, 7, 8]] == -1).all()
    assert bool(by_kernel) == (step > 0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_point_nulls_are_nan(dtype):
    column = FixedColumn(np.arange(4, dtype=dtype), np.array([True, True, False, True]))
    out = np.zeros(5, dtype)
    assert gather(Field.parse("x", f"{dtype}?"), chosen("x", column), out) == {}
    assert np.isnan(out[0])
    assert out[1:].tolist() == [3, 0, 0, 0]
    assert column.values.tolist() == [0, 1, 2, 3], "the block is not ours to change"


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_other_nulls_are_bad_places(dtype):
    column = FixedColumn(np.ones(4, dtype), np.array([False, False, False, True]))
    out = np.zeros(5, dtype)
    bad = gather(Field.parse("n", f"{dtype}?"), chosen("n", column), out)
    assert sorted(bad) == [0, 4]
    for error in bad.values():
        assert isinstance(error, DecodeError)
        assert f"field 'n' is null, and a tensor of {dtype} has no value for null" in str(error)
        assert "read without this column" in str(error)


def test_a_null_that_is_not_asked_for_is_no_fault():
    column = FixedColumn(np.arange(4), np.array([True, False, True, True]))
    out = np.zeros(5, np.int64)
    assert gather(Field.parse("n", "int64?"), chosen("n", column), out) == {}


def test_collect_gives_values_of_their_own():
    column = strings([[1], [2, 3], [], [4, 5, 6]], np.uint16)
    out = [None] * 5
    assert collected(Field.parse("ids", "uint16[*]"), chosen("ids", column), out) == {}
    assert [v if v is None else v.tolist() for v in out] == [[], [4, 5, 6], None, None, [1]]
    assert not np.shares_memory(out[1], column.values)


def test_nulls_of_varying_fields_are_none():
    valid = np.array([False, True, True, True])
    column = VarColumn(
        np.frombuffer(b"xyz", np.uint8), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2]), valid
    )
    out = ["?"] * 5
    assert collected(Field.parse("t", "bytes?"), chosen("t", column), out) == {}
    assert out == [b"", b"yz", "?", "?", None]


def test_text_that_is_not_utf_8_is_a_bad_place_and_the_others_are_there():
    column = VarColumn(
        np.frombuffer(b"a\xff\xc3\xb6ok", np.uint8),
        np.array([0, 0, 1, 2]),
        np.array([1, 0, 1, 2]),
    )
    out = [None] * 5
    bad = collected(Field.parse("t", "text"), chosen("t", column), out)
    assert list(bad) == [0]
    assert isinstance(bad[0], DecodeError)
    assert "field 't' is not UTF-8 text" in str(bad[0])
    assert (out[1], out[4]) == ("ö", "a")


def test_only_fixed_fields_are_dense():
    specs = {"int64": True, "float32[2,3]": True, "uint16[*]": False, "text": False, "jpeg": False}
    assert {s: is_dense(Field.parse("x", s)) for s in specs} == specs


def test_text_of_blocks_with_nulls_and_without():
    words = strings([[97], [98] * 2, [99] * 3, [100] * 4])
    nulls = strings([[101], [], [103] * 2, [104]], valid=np.array([True, False, True, False]))
    out = ["?"] * 10
    assert collected(Field.parse("t", "text?"), chosen("t", words, nulls), out) == {}
    assert out == ["ccc", "dddd", "?", "?", "a", "gg", None, "?", "?", "e"]
