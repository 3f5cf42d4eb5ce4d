"""What a filter says of the rows of a block."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forebay.formats.column import FixedColumn, VarColumn
from forebay.formats.errors import FilterError
from forebay.kernels.blocks import RaggedBlocks
from forebay.kernels.ragged import find_rows
from forebay.kernels.values import put_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from forebay.formats.column import Block
    from forebay.formats.filter.expression import Expression
    from forebay.formats.record import Schema

Bools = NDArray[np.bool_]

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPUTE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_INT64 = 1 << 63
_EXACT = 1 << 62
"""Whole numbers whose results stay below it add, subtract and multiply without wrapping round."""


class NotText(Exception):
    """The text of a row is not UTF-8.

    Args:
        field: by name.
        row: of the block.
    """

    def __init__(self, field: str, row: int) -> None:
        super().__init__(field, row)
        self.field, self.row = field, row


class Values(NamedTuple):
    """A part's value in each row, or one for all; of conditions, bools.

    Args:
        known: (rows,) where it is no null; None: everywhere.
    """

    data: Any
    known: Bools | None


def true_rows(expression: Expression, schema: Schema, block: Block) -> Bools:
    """(rows,) where the filter is true.

    Args:
        schema: of the block's columns, all fields of the filter among them.

    Raises:
        FilterError: whole numbers became too large on the way.
        NotText: the text of a row is damaged.
    """
    with np.errstate(all="ignore"):
        found = _Rows(schema, block).value(expression.tree)
    kept = np.zeros(block.rows, np.bool_)
    kept[:] = found.data
    return kept if found.known is None else kept & found.known


class _Rows:
    def __init__(self, schema: Schema, block: Block) -> None:
        self._schema, self._block = schema, block

    def value(self, node: ast.expr) -> Values:
        match node:
            case ast.Constant(value=value):
                return Values(value, None)
            case ast.Name(id=name):
                return self._field(name)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return _computed(op, self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=values):
                return self._joined(isinstance(op, ast.And), [self.value(v) for v in values])
            case ast.Compare(left=left, ops=ops, comparators=others):
                pairs = zip([left, *others], ops, others, strict=False)
                return self._joined(True, [self._compared(a, op, b) for a, op, b in pairs])
            case ast.Call(args=[ast.Name(id=name)]):
                return self._length(name)
        raise AssertionError(f"{ast.dump(node)} passed the check of the language")

    def _valid(self, name: str) -> Bools | None:
        return self._block.columns[name].valid

    def _field(self, name: str) -> Values:
        column = self._block.columns[name]
        if isinstance(column, FixedColumn):
            return Values(column.values, column.valid)
        assert isinstance(column, VarColumn), "checked by the language"
        every = np.arange(len(column))
        blocks = RaggedBlocks.of([(column.values, column.starts, column.lengths)])
        texts: list[Any] = [""] * len(column)
        bad = put_texts(find_rows(name, blocks, None, every), every, texts)
        bad = [row for row in bad if column.valid is None or column.valid[row]]
        if bad:
            raise NotText(name, bad[0])
        return Values(np.array(texts, object), column.valid)

    def _length(self, name: str) -> Values:
        column = self._block.columns[name]
        assert isinstance(column, VarColumn), "checked by the language"
        if self._schema[name].kind != "text":
            return Values(column.lengths, column.valid)
        texts = self._field(name)
        return Values(np.array([len(text) for text in texts.data], np.int64), texts.known)

    def _unary(self, op: ast.unaryop, of: Values) -> Values:
        if isinstance(op, ast.Not):
            return Values(np.logical_not(of.data), of.known)
        if isinstance(op, ast.UAdd):
            return of
        return _computed(ast.Sub(), Values(0, None), of)

    def _joined(self, every: bool, parts: list[Values]) -> Values:
        """Kleene's and (every) or or: known where one part settles it, or all are known."""
        rows = self._block.rows
        settled = np.zeros(rows, np.bool_)
        known = np.ones(rows, np.bool_)
        for part in parts:
            data = np.broadcast_to(np.asarray(part.data, np.bool_), (rows,))
            sure = True if part.known is None else part.known
            settled |= (data != every) & sure
            known &= sure
        return Values(settled != every, known | settled)

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Values:
        if isinstance(op, ast.Is | ast.IsNot):
            assert isinstance(left, ast.Name), "checked by the language"
            valid = self._valid(left.id)
            there = np.ones(self._block.rows, np.bool_) if valid is None else valid
            return Values(there if isinstance(op, ast.IsNot) else ~there, None)
        first = self.value(left)
        if isinstance(op, ast.In | ast.NotIn):
            assert isinstance(right, ast.Tuple | ast.List | ast.Set), "checked by the language"
            found = _among(first.data, [self.value(item).data for item in right.elts])
            return Values(found if isinstance(op, ast.In) else np.logical_not(found), first.known)
        second = self.value(right)
        return Values(_COMPARE[type(op)](first.data, second.data), _both(first, second))


def _both(a: Values, b: Values) -> Bools | None:
    if a.known is None or b.known is None:
        return b.known if a.known is None else a.known
    return a.known & b.known


def _among(data: Any, constants: list[Any]) -> Any:
    if isinstance(data, np.ndarray) and data.dtype == object:
        among = frozenset(constants)
        return np.fromiter((text in among for text in data), np.bool_, len(data))
    signed = isinstance(data, np.ndarray) and data.dtype.kind in "iu" and data.dtype != np.uint64
    if signed and all(isinstance(c, int) and -_INT64 <= c < _INT64 for c in constants):
        return np.isin(data, np.array(constants, np.int64))
    # One by one, as == has it: of an array the constants would become floats, or wrap round.
    found: Any = np.zeros(np.shape(data), np.bool_)
    for constant in constants:
        found = found | (data == constant)
    return found


def _wide(value: Any) -> Any:
    """Whole numbers in 64 bits, where a narrow field's own would wrap round."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value.astype(np.int64)
    return value


def _computed(op: ast.operator, a: Values, b: Values) -> Values:
    left, right, known = _wide(a.data), _wide(b.data), _both(a, b)
    if isinstance(op, ast.Div | ast.Mod):
        there = np.asarray(right != 0)
        known = there if known is None else known & there
        right = np.where(there, right, 1)
    else:
        _refuse_large(op, left, right, known)
    return Values(_COMPUTE[type(op)](left, right), known)


def _refuse_large(op: ast.operator, left: Any, right: Any, known: Bools | None) -> None:
    whole = all(np.asarray(side).dtype.kind in "iuO" for side in (left, right))
    if not whole:
        return
    size = np.abs(_COMPUTE[type(op)](np.asarray(left, np.float64), np.asarray(right, np.float64)))
    if known is not None:
        size = np.where(known, size, 0)
    if float(np.max(size, initial=0)) >= _EXACT:
        raise FilterError(
            f"a filter's whole numbers reach {float(np.max(size)):.3g}, beyond 2^62: "
            "write a constant with a decimal point, so that they are computed as floats"
        )
