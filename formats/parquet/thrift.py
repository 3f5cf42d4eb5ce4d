"""Thrift's compact protocol, as far as Parquet's headers use it, read within bounds.

Every length is checked against the bytes that remain before it is believed, and nesting is
limited, so that no input makes a reader allocate, loop or recurse beyond its own size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
MAX_DEPTH = 24


class ThriftError(ValueError):
    """The bytes are not Thrift's compact protocol; `at` is the offset at which that was noticed."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what, at)
        self.what = what
        self.at = at

    def __str__(self) -> str:
        return f"{self.what} (at byte {self.at} of the header)"


class CompactReader:
    """A position in a buffer of Thrift values. `data` is viewed, never copied."""

    def __init__(self, data: memoryview, at: int = 0) -> None:
        self.data = data
        self.at = at

    def fields(self) -> Iterator[tuple[int, int]]:
        """(field id, type) of each field of the struct that begins here.

        The caller must consume the field's value, by one of the methods below, before the next.
        """
        last = 0
        while True:
            head = self._byte()
            kind = head & 15
            if kind == 0:
                return
            if kind > STRUCT:
                raise ThriftError(f"unknown type {kind}", self.at - 1)
            last = last + (head >> 4) if head >> 4 else self._zigzag()
            yield last, kind

    def integer(self, kind: int) -> int:
        """An i16, i32, i64 or byte."""
        if kind == BYTE:
            return self._byte()
        if kind not in (I16, I32, I64):
            raise ThriftError(f"type {kind} where an integer belongs", self.at)
        return self._zigzag()

    def binary(self, kind: int = BINARY) -> memoryview:
        """A string or binary value, as a view."""
        if kind != BINARY:
            raise ThriftError(f"type {kind} where a string belongs", self.at)
        length = self._varint()
        self._need(length)
        self.at += length
        return self.data[self.at - length : self.at]

    def text(self, kind: int = BINARY) -> str:
        """A string."""
        at = self.at
        try:
            return str(self.binary(kind), "utf-8")
        except UnicodeDecodeError as e:
            raise ThriftError(f"a string that is not UTF-8: {e.reason}", at) from e

    def items(self, kind: int, element: int) -> int:
        """The number of items of the list of `element`s that begins here."""
        if kind != LIST:
            raise ThriftError(f"type {kind} where a list belongs", self.at)
        count, got = self._list_head()
        if count and got != element:
            raise ThriftError(f"a list of type {got} where type {element} belongs", self.at)
        return count

    def expect(self, kind: int, wanted: int) -> None:
        """Refuses a field of another type than the one wanted."""
        if kind != wanted:
            raise ThriftError(f"type {kind} where type {wanted} belongs", self.at)

    def skip(self, kind: int, depth: int = 0) -> None:
        """Passes over a value of this type."""
        if depth > MAX_DEPTH:
            raise ThriftError(f"nested deeper than {MAX_DEPTH}", self.at)
        if kind in (TRUE, FALSE):
            return
        if kind == BYTE:
            self._byte()
        elif kind in (I16, I32, I64):
            self._varint()
        elif kind == DOUBLE:
            self._need(8)
            self.at += 8
        elif kind == BINARY:
            self.binary()
        elif kind in (LIST, SET):
            count, element = self._list_head()
            for _ in range(count):
                self._skip_item(element, depth)
        elif kind == MAP:
            self._skip_map(depth)
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        else:
            raise ThriftError(f"unknown type {kind}", self.at)

    def _skip_item(self, kind: int, depth: int) -> None:
        # A boolean is in its field's header, but takes a byte of its own inside a container.
        self.skip(BYTE if kind in (TRUE, FALSE) else kind, depth + 1)

    def _skip_map(self, depth: int) -> None:
        count = self._varint()
        self._need(count)
        if count:
            kinds = self._byte()
            for _ in range(count):
                self._skip_item(kinds >> 4, depth)
                self._skip_item(kinds & 15, depth)

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4
        if count == 15:
            count = self._varint()
        # Each item takes a byte at least, so a count beyond the bytes left is a lie.
        self._need(count)
        return count, head & 15

    def _need(self, count: int) -> None:
        if count > len(self.data) - self.at:
            raise ThriftError(
                f"{count} bytes or items announced where {len(self.data) - self.at} bytes are left",
                self.at,
            )

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ThriftError("the header ends in the middle of a value", self.at)
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ThriftError("a number longer than 64 bits", self.at)

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
