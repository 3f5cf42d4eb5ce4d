"""Arrays of rows in `.npy` files: each row is a record with one field of fixed shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.column import Block, FixedColumn
from forebay.formats.errors import SourceError
from forebay.formats.record import Field, Schema
from forebay.formats.sources.listing import InputFile, digest_of
from forebay.formats.sources.order import Order, even_cuts, stored_order
from forebay.formats.sources.source import Cut, CutRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from forebay.formats.sources.numpy_file import ArrayFile

FIELD = "x"
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class ArrayRows:
    """Rows of arrays that agree in dtype and in all dimensions but the first.

    Field `x` has the arrays' dtype and the shape of a row.
    """

    listing: Sequence[InputFile]
    arrays: Sequence[ArrayFile]
    dtype: str
    kind = "arrays"
    holds_images = False
    shuffled = False

    @property
    def digest(self) -> str:
        """Over names, sizes and times of all files."""
        return digest_of(self.kind, self.listing)

    def cut(self, request: CutRequest) -> Cut:
        """Jobs of about the same number of rows."""
        field = Field(FIELD, "fixed", self.dtype, self.arrays[0].shape[1:])
        rows = sum(a.shape[0] for a in self.arrays)
        if not rows or not field.width:
            raise SourceError(f"{self.arrays[0].path} has no values: there is nothing to pack")
        runs = even_cuts(rows, rows * field.width, request.shard_bytes)
        arrays = tuple(self.arrays)
        order = stored_order(rows, request.seed, request.stage)
        return Cut(Schema((field,)), [ArrayJob(arrays, field, order, *run) for run in runs])


@dataclass(frozen=True, slots=True)
class ArrayJob:
    """The rows at positions start to stop of the order."""

    arrays: tuple[ArrayFile, ...]
    field: Field
    order: Order
    start: int
    stop: int

    @property
    def records(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return self.records * self.field.width

    def read(self) -> Iterator[Block]:
        """The rows as one column, about a MiB at a time."""
        opened = [a.open() for a in self.arrays]
        firsts = np.concatenate([[0], np.cumsum([len(a) for a in opened], dtype=np.int64)])
        step = max(1, _READ_BYTES // self.field.width)
        for at in range(self.start, self.stop, step):
            rows = self.order.rows(at, min(at + step, self.stop))
            file = np.searchsorted(firsts, rows, side="right") - 1
            values = np.empty((len(rows), *self.field.shape), self.field.element)
            for f in np.unique(file).tolist():
                mine = file == f
                values[mine] = opened[f][rows[mine] - firsts[f]]
            yield Block(len(rows), {FIELD: FixedColumn(values)}, int(values.nbytes))
