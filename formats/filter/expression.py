"""The language of filters: a comparison such as `label < 10 and width >= 224`, checked before use.

It is a part of Python's expressions, of which only the syntax tree is used: nothing is ever run.

====================================  =============================================================
names of stored fields                scalars (numbers, bool) and text
numbers, strings, True, False         constants
== != < <= > >=, in chains too        of two numbers or two texts; == and != of two bools
in, not in                            a tuple, list or set of constants
is None, is not None                  of any field
and, or, not                          of conditions
+ - * / %                             of numbers
len(field)                            characters of text, elements of ragged, bytes of other fields
====================================  =============================================================

A null, and what is computed of one or divided by zero, is unknown; and so, as in SQL, is what is
compared with it, unless the other side of an `and` or `or` settles it. Rows are kept where the
whole is true.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

from forebay.formats.errors import FilterError

if TYPE_CHECKING:
    from forebay.formats.record import Field, Schema

Type = Literal["number", "bool", "text", "other"]

MOST_CHARACTERS, MOST_LEVELS = 100_000, 100
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod)


@dataclass(frozen=True, slots=True)
class Expression:
    """A filter that fits a schema.

    Args:
        text: the expression, the same for all ways to space and bracket it.
        tree: of it; holds nothing but what the language has.
        fields: that it reads, in order of appearance.
    """

    text: str
    tree: ast.expr
    fields: tuple[str, ...]


def parse(text: str, schema: Schema) -> Expression:
    """The filter that a text says.

    Raises:
        FilterError: it is not of the language, or does not fit the fields; says where.
    """
    if not isinstance(text, str):
        raise FilterError(f"a filter must be a string such as 'label < 10', got {text!r:.100}")
    if len(text) > MOST_CHARACTERS:
        raise FilterError(f"a filter may have {MOST_CHARACTERS} characters, got {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if _levels(tree) > MOST_LEVELS:
            raise RecursionError
        checker = _Checker(text.strip(), schema)
        if (found := checker.type_of(tree)) != "bool":
            checker.refuse(tree, f"it is a {found}, not a condition: compare it with something")
        return Expression(ast.unparse(tree), tree, tuple(checker.fields))
    except (SyntaxError, ValueError) as e:
        if isinstance(e, FilterError):
            raise
        raise FilterError(f"the filter {text!r:.200} is no expression: {e}") from None
    except (RecursionError, MemoryError):
        raise FilterError(f"a filter may be nested {MOST_LEVELS} levels deep") from None


def both(first: str, second: str) -> str:
    """The text of a filter that keeps what two others keep."""
    return ast.unparse(ast.parse(f"({first}) and ({second})", mode="eval").body)


def _levels(tree: ast.expr) -> int:
    """How deep it is nested, found without nesting."""
    levels, here = 0, [tree]
    while here:
        here = [c for n in here for c in ast.iter_child_nodes(n) if isinstance(c, ast.expr)]
        levels += 1
    return levels


class _Checker:
    """Finds the type of every part, and refuses what is not of the language."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._text, self._schema = text, schema
        self.fields: dict[str, None] = {}

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Raises FilterError about this part."""
        piece = ast.get_source_segment(self._text, node) or self._text
        column = getattr(node, "col_offset", 0) + 1
        raise FilterError(f"filter: {piece!r:.100} at column {column}: {why}")

    def type_of(self, node: ast.expr) -> Type:
        """What the part is, all of it checked."""
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name(id=name):
                return self._field_type(node, self._field(node, name))
            case ast.BoolOp(values=parts):
                for part in parts:
                    self._expect(part, "bool")
                return "bool"
            case ast.Compare(left=left, ops=ops, comparators=others):
                for a, op, b in zip([left, *others], ops, others, strict=False):
                    self._check_pair(a, op, b)
                return "bool"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._expect(operand, "bool")
                return "bool"
        return self._number(node)

    def _number(self, node: ast.expr) -> Type:
        match node:
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                self._operand(operand)
                return "number"
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
                self._operand(left)
                self._operand(right)
                return "number"
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name) as field], keywords=[]):
                if self._field(field, name).kind in ("fixed", "other"):
                    self.refuse(node, "len() is of fields of differing size")
                return "number"
        self.refuse(
            node,
            "not of the language of filters: names of fields, constants, comparisons, in, is None, "
            "and, or, not, + - * / %, len(field)",
        )

    def _operand(self, node: ast.expr) -> None:
        self._expect(node, "number")
        if isinstance(node, ast.Name) and self._schema[node.id].dtype == "uint64":
            self.refuse(node, "arithmetic does not hold every uint64: compare it by itself")

    def _expect(self, node: ast.expr, wanted: Type) -> None:
        found = self.type_of(node)
        if found != wanted:
            what = "a condition" if wanted == "bool" else f"a {wanted}"
            self.refuse(node, f"it is a {found}, expected {what}")

    def _check_pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        if isinstance(op, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                self.refuse(right, "`is` takes None: write == for values")
            if not isinstance(left, ast.Name):
                self.refuse(left, "`is None` is of a field")
            self._field(left, left.id)
            return
        first = self._comparable(left)
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.Tuple | ast.List | ast.Set):
                self.refuse(right, "`in` takes a tuple, list or set of constants")
            for item in right.elts:
                bare = item.operand if isinstance(item, ast.UnaryOp) else item
                if not isinstance(bare, ast.Constant) or self.type_of(item) != first:
                    self.refuse(item, f"`in` takes constants that are {first}s, as its left side")
            return
        second = self._comparable(right)
        if first != second:
            self.refuse(right, f"it is a {second}, its left side a {first}")
        if first == "bool" and isinstance(op, _ORDERED):
            self.refuse(right, "bools have no order: use ==, !=, and, or, not")

    def _comparable(self, node: ast.expr) -> Type:
        found = self.type_of(node)
        if found == "other":
            self.refuse(node, "fields of this kind take len() and `is None` alone")
        return found

    def _constant(self, node: ast.expr, value: object) -> Type:
        match value:
            case bool():
                return "bool"
            case int() | float():
                return "number"
            case str():
                return "text"
            case None:
                self.refuse(node, "compare with None by `is None` or `is not None`")
        self.refuse(node, f"constants are numbers, strings, True and False, not {value!r:.50}")

    def _field(self, node: ast.expr, name: str) -> Field:
        if name not in self._schema:
            near = difflib.get_close_matches(name, self._schema.names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {self._schema.names}"
            self.refuse(node, f"no such field; {hint}")
        self.fields[name] = None
        return self._schema[name]

    def _field_type(self, node: ast.expr, field: Field) -> Type:
        if field.kind == "text":
            return "text"
        if field.kind != "fixed":
            return "other"
        if field.shape:
            self.refuse(node, f"it has the shape {field.shape}; filters take single values")
        return "bool" if field.dtype == "bool" else "number"
