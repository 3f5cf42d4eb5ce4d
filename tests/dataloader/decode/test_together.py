"""Scalar fields gathered in one walk, against each by itself."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from forebay.dataloader.decode.columns import gather
from forebay.dataloader.decode.selection import Selection
from forebay.dataloader.decode.together import by_width
from forebay.formats.column import Block, FixedColumn, VarColumn
from forebay.formats.record import Schema

SCHEMA = Schema.parse(
    {"a": "float32?", "b": "int32?", "c": "float32", "v": "float32[2]", "t": "text", "d": "int64"}
)
FIELDS = {field.name: field for field in SCHEMA}


def block(rows, side_by_side, *, valid=None, swap=None):
    """Three columns of four bytes; `swap` is another dtype for column c."""
    table = np.arange(3 * rows, dtype=np.uint32).reshape(rows, 3)
    columns = {}
    for i, name in enumerate("abc"):
        values = table[:, i] if side_by_side else table[:, i].copy()
        dtype = swap if swap is not None and name == "c" else FIELDS[name].element
        columns[name] = FixedColumn(values.view(dtype), valid if name != "c" else None)
    return Block(rows, columns, table.nbytes)


def selection(blocks, seed=0):
    rng = np.random.default_rng(seed)
    bounds = np.cumsum([0] + [len(b.columns["a"]) for b in blocks])
    rows = np.concatenate([rng.permutation(b.rows) for b in blocks])
    return Selection(tuple(blocks), bounds, rows, rng.permutation(len(rows) + 2)[: len(rows)])


def gathered(blocks):
    chosen = selection(blocks)
    group = by_width(list(SCHEMA))[0][0]
    room = len(chosen) + 2
    got = {f.name: np.full(room, 9, f.element) for f in group.fields}
    wanted = {name: out.copy() for name, out in got.items()}
    bad = group.gather(chosen, got)
    expected = {}
    for field in group.fields:
        expected |= gather(field, chosen, wanted[field.name])
    for name, out in wanted.items():
        np.testing.assert_array_equal(got[name], out)
    assert {p: str(e) for p, e in bad.items()} == {p: str(e) for p, e in expected.items()}
    return bad


def test_scalars_of_one_width_go_together():
    groups, others = by_width(list(SCHEMA))
    assert [[f.name for f in group.fields] for group in groups] == [["a", "b", "c"]]
    assert [f.name for f in others] == ["v", "t", "d"]


@pytest.mark.parametrize("layouts", [(True,), (True, True, True), (False, True), (False, False)])
def test_equals_each_by_itself(layouts):
    assert gathered([block(20 + i, beside) for i, beside in enumerate(layouts)]) == {}


def test_nulls_become_nan_or_are_bad():
    valid = np.arange(20) % 4 != 1
    bad = gathered([block(20, True, valid=valid), block(7, True)])
    assert len(bad) == 5


def test_columns_of_another_dtype_are_cast_as_by_themselves():
    assert gathered([block(9, True), block(9, True, swap=np.int32)]) == {}


def test_no_rows_are_no_work():
    groups, _ = by_width(list(SCHEMA))
    empty = np.empty(0, np.int64)
    assert groups[0].gather(Selection((), np.zeros(1, np.int64), empty, empty), {}) == {}


def test_a_column_of_another_kind_is_told():
    wrong = VarColumn(np.zeros(3, np.uint8), np.arange(3), np.ones(3, np.int64))
    columns = {**block(3, True).columns, "b": wrong}
    chosen = selection([Block(3, columns, 0)])
    groups, _ = by_width(list(SCHEMA))
    outs = {name: np.zeros(5, FIELDS[name].element) for name in "abc"}
    with pytest.raises(TypeError, match="'b' is fixed but came as VarColumn"):
        groups[0].gather(chosen, outs)


def test_blocks_are_not_kept():
    one = block(5, True)
    groups, _ = by_width(list(SCHEMA))
    chosen = selection([one])
    groups[0].gather(chosen, {name: np.zeros(7, FIELDS[name].element) for name in "abc"})
    gone = weakref.ref(one)
    del one, chosen
    gc.collect()
    assert gone() is None
