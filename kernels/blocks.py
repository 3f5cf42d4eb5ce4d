"""Blocks of memory that kernels gather from: many arrays as one table of addresses.

A row is named by the number of its block and its place in that block. The numbers of blocks are
given out by `put`; `kernels/spans.py` checks every name before a kernel reads what it stands for.
"""

from __future__ import annotations

import threading
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Int = NDArray[np.int64]

__all__ = ["FixedBlocks", "RaggedBlocks", "address_of", "row_stride"]


def address_of(array: NDArray[Any]) -> int:
    """Where an array's first byte lies.

    Raises:
        ValueError: the array is not C-contiguous.
    """
    if not array.flags.c_contiguous:
        raise ValueError(
            f"a kernel needs C-contiguous arrays, got shape {array.shape} with strides "
            f"{array.strides}"
        )
    return _address(array)


def row_stride(rows: NDArray[Any]) -> int | None:
    """Bytes from each row of `rows` to the next; None where a kernel cannot take them.

    Each row must be C-contiguous, and behind the one before it. Scalars must lie end to end, since
    kernels also take a block of them as one run.
    """
    if rows.flags.c_contiguous:
        return rows.itemsize * prod(rows.shape[1:])
    if rows.ndim < 2 or not rows[0].flags.c_contiguous or rows.strides[0] < rows[0].nbytes:
        return None
    return rows.strides[0]


class _Slots:
    """Rows of a table that are given out and taken back, with the arrays that they stand for.

    Threads may put and drop at once, and kernels read the table meanwhile: a table that grows is a
    new one, and a row is changed only while nobody was told its number.
    """

    def __init__(self, width: int, rows: NDArray[np.uint64] | None = None, held: Any = ()) -> None:
        self.table = np.zeros((8, width), np.uint64) if rows is None else rows
        self._held: dict[int, Any] = dict(enumerate(held))
        self._free = list(range(len(self.table) - 1, len(self._held) - 1, -1))
        self._lock = threading.Lock()

    def put(self, row: NDArray[np.uint64], held: Any) -> int:
        with self._lock:
            if not self._free:
                size = len(self.table)
                table = np.zeros((2 * size, self.table.shape[1]), np.uint64)
                table[:size] = self.table
                self.table = table
                self._free = list(range(2 * size - 1, size - 1, -1))
            slot = self._free.pop()
            self.table[slot] = row
            self._held[slot] = held
            return slot

    def drop(self, slot: int) -> None:
        with self._lock:
            if slot not in self._held:
                raise KeyError(f"no block has number {slot}: it was dropped, or never put")
            self.table[slot] = 0
            del self._held[slot]
            self._free.append(slot)


class FixedBlocks:
    """Blocks of rows of one dtype and shape; shaped rows may lie apart, evenly in each block.

    Args:
        dtype: of the rows; no Python objects.
        shape: of one row, () for a scalar.
    """

    def __init__(self, dtype: np.dtype[Any] | type, shape: tuple[int, ...] = ()) -> None:
        self.dtype, self.shape = _plain(dtype), shape
        self.row_bytes = self.dtype.itemsize * prod(shape)
        self._slots = _Slots(3)

    @classmethod
    def of(cls, arrays: Iterable[NDArray[Any]]) -> FixedBlocks:
        """Blocks 0, 1, ... of these arrays; at least one. Raises as `put`."""
        held = list(arrays)
        blocks = cls(held[0].dtype, held[0].shape[1:])
        blocks._slots = _Slots(3, blocks._rows(held), held)
        return blocks

    @classmethod
    def alike(cls, arrays: Iterable[NDArray[Any]], like: NDArray[Any]) -> FixedBlocks | None:
        """As `of`, for rows of the dtype and shape of those of `like`; None where one has others,
        or no `row_stride`."""
        held = tuple(arrays)
        table = np.empty((len(held), 3), np.uint64)
        first = held[0]
        if first.dtype != like.dtype or first.shape[1:] != like.shape[1:]:
            return None
        if _native.fixed_table(held, table) != len(held):
            return None
        blocks = cls(first.dtype, first.shape[1:])
        blocks._slots = _Slots(3, table, held)
        return blocks

    @property
    def table(self) -> NDArray[np.uint64]:
        """(blocks, 3) uint64: address, number of rows, and bytes from row to row, for kernels."""
        return self._slots.table

    def put(self, rows: NDArray[Any]) -> int:
        """Takes a block in and gives its number; the array is kept until `drop`.

        Raises:
            ValueError: `rows` is not a (rows, *shape) array of the dtype, or has no `row_stride`.
        """
        return self._slots.put(self._rows([rows])[0], rows)

    def _rows(self, held: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        # All at once: a ticket over hundreds of blocks makes its table anew.
        table = np.empty((len(held), 3), np.uint64)
        self._extent(held[0])
        done = _native.fixed_table(tuple(held), table)
        # What the native walk does not take is unlike the first, and mostly refused.
        for i in range(done, len(held)):
            table[i] = (_address(held[i]), *self._extent(held[i]))
        return table

    def _extent(self, rows: NDArray[Any]) -> tuple[int, int]:
        if rows.dtype != self.dtype or rows.ndim == 0 or rows.shape[1:] != self.shape:
            raise ValueError(
                f"FixedBlocks: a block must be rows of {self.dtype} {self.shape}, got "
                f"{rows.dtype} {rows.shape}"
            )
        stride = row_stride(rows)
        if stride is None:
            raise ValueError(
                "FixedBlocks: each row must be C-contiguous and behind the one before it, scalars "
                f"end to end; got shape {rows.shape} with strides {rows.strides}"
            )
        return len(rows), stride

    def drop(self, number: int) -> None:
        """Lets a block go; no kernel may be reading from it. Its number may be given out again.

        Raises:
            KeyError: there is no such block.
        """
        self._slots.drop(number)


class RaggedBlocks:
    """Blocks of rows of differing size: row i of a block is values[starts[i] : starts[i] +
    lengths[i]], counted in elements.

    Args:
        dtype: of the elements; no Python objects.
    """

    def __init__(self, dtype: np.dtype[Any] | type) -> None:
        self.dtype = _plain(dtype)
        self._slots = _Slots(5)

    @classmethod
    def of(cls, blocks: Iterable[tuple[NDArray[Any], Int, Int]]) -> RaggedBlocks:
        """Blocks 0, 1, ... of these (values, starts, lengths); at least one. Raises as `put`."""
        held = list(blocks)
        all_of_them = cls(held[0][0].dtype)
        all_of_them._slots = _Slots(5, all_of_them._rows(held), held)
        return all_of_them

    @property
    def table(self) -> NDArray[np.uint64]:
        """(blocks, 5) uint64: address and number of values, number of rows, addresses of starts
        and of lengths, for kernels."""
        return self._slots.table

    def put(self, values: NDArray[Any], starts: Int, lengths: Int) -> int:
        """Takes a block in and gives its number; the arrays are kept until `drop`.

        Args:
            values: (elements,) of the dtype.
            starts: (rows,) int64, as lengths; spans are checked when they are read.

        Raises:
            ValueError: shapes or dtypes are others, or an array is not C-contiguous.
        """
        held = (values, starts, lengths)
        return self._slots.put(self._rows([held])[0], held)

    def _rows(self, held: Sequence[tuple[NDArray[Any], Int, Int]]) -> NDArray[np.uint64]:
        table = np.empty((len(held), 5), np.uint64)
        self._extent(*held[0])
        all_values, all_starts, all_lengths = zip(*held, strict=True)
        done = _native.ragged_table(all_values, all_starts, all_lengths, table)
        for i in range(done, len(held)):
            values, starts, lengths = map(_address, held[i])
            table[i] = (values, *self._extent(*held[i]), starts, lengths)
        return table

    def _extent(self, values: NDArray[Any], starts: Int, lengths: Int) -> tuple[int, int]:
        if values.ndim != 1 or values.dtype != self.dtype:
            raise ValueError(
                f"RaggedBlocks: values must be 1-D {self.dtype}, got {values.ndim}-D {values.dtype}"
            )
        if starts.dtype != np.int64 or lengths.dtype != np.int64:
            raise ValueError(
                f"RaggedBlocks: starts and lengths must be int64, got {starts.dtype} and "
                f"{lengths.dtype}"
            )
        if starts.ndim != 1 or starts.shape != lengths.shape:
            raise ValueError(
                "RaggedBlocks: starts and lengths must be 1-D of one size, got "
                f"{starts.shape} and {lengths.shape}"
            )
        for array in (values, starts, lengths):
            if not array.flags.c_contiguous:
                raise ValueError(
                    f"RaggedBlocks: arrays must be C-contiguous, got strides {array.strides}"
                )
        return len(values), len(starts)

    def drop(self, number: int) -> None:
        """Lets a block go; no kernel may be reading from it. Its number may be given out again.

        Raises:
            KeyError: there is no such block.
        """
        self._slots.drop(number)


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _plain(dtype: np.dtype[Any] | type) -> np.dtype[Any]:
    plain = np.dtype(dtype)
    if plain.hasobject:
        raise ValueError(f"Python objects cannot be copied as bytes, got dtype {plain}")
    return plain
