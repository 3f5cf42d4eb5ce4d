"""The image layout: MXNet's IRHeader and an image behind it (SPEC.md, 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.errors import SchemaError
from forebay.formats.recordio.gather import Bytes, Offsets, take_fixed
from forebay.formats.recordio.layout import (
    Records,
    Spans,
    Take,
    fixed_column,
    ragged_column,
    refuse,
    var_column,
)
from forebay.kernels.align import aligned_empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.record import Field, Schema

IRHEADER = np.dtype([("flag", "<u4"), ("label", "<f4"), ("id", "<u8"), ("id2", "<u8")])
LABEL_LIMIT = 1 << 24

_U32 = np.dtype("<u4")
_F32 = np.dtype("<f4")
_LABEL_AT = 4


class ImageLayout:
    """An image, or bytes, with a label: ours (a scalar), and foreign ones with several labels.

    Args:
        schema: two fields, one of them an image or bytes. The other, the label, is a scalar (the
            header's own), float32[k] (flag is k) or float32[*] (any flag).
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        (self._content,) = (f for f in schema if f.kind in ("image", "bytes"))
        (self._label,) = (f for f in schema if f is not self._content)

    def assemble(self, block: Block, first: int) -> Records:
        """As `Layout.assemble`."""
        label = fixed_column(block, self._label).values
        if label.dtype.kind in "iu":
            inside = (label >= -LABEL_LIMIT) & (label <= LABEL_LIMIT)
            if not inside.all():
                row = int(np.argmin(inside))
                raise SchemaError(
                    f"field {self._label.name!r}: {label[row]} in record {first + row} is beyond "
                    f"2^24, and a RecordIO image label is a float32 that cannot hold it exactly; "
                    f"declare the field as '{self._label.dtype}[1]' or write Parquet"
                )
        header = np.zeros(block.rows, IRHEADER)
        header["label"] = label
        header["id"] = np.arange(first, first + block.rows)
        prefix = header.view(np.uint8).reshape(block.rows, IRHEADER.itemsize)
        return Records(prefix, (var_column(block, self._content),))

    def parse(
        self, records: Spans, columns: Schema, take: Take = aligned_empty
    ) -> dict[str, Column]:
        """As `Layout.parse`."""
        data, starts, lengths = records.data, records.starts, records.lengths
        flags = self._flags(data, starts, lengths)
        out: dict[str, Column] = {}
        for f in columns:
            if f == self._content:
                skip = IRHEADER.itemsize + 4 * flags
                out[f.name] = VarColumn(data, starts + skip, lengths - skip)
            elif f.kind == "ragged":
                at = starts + np.where(flags == 0, _LABEL_AT, IRHEADER.itemsize)
                out[f.name] = ragged_column(f, Spans(data, at, 4 * np.maximum(flags, 1)), take=take)
            else:
                at = starts + (IRHEADER.itemsize if f.shape else _LABEL_AT)
                values = take_fixed(data, at, 4 * (f.shape[0] if f.shape else 1), _F32)
                shaped = values.reshape(len(starts), *f.shape)
                if f.element.kind in "iu":
                    _check_whole(shaped, f)
                out[f.name] = FixedColumn(shaped.astype(f.element, copy=False))
        return out

    def _flags(self, data: Bytes, starts: Offsets, lengths: Offsets) -> Offsets:
        """(rows,) further labels of each record, once its header is known to be whole."""
        refuse(
            lengths < IRHEADER.itemsize,
            lambda row: (
                f"the record has {lengths[row]} bytes, fewer than the {IRHEADER.itemsize} "
                "of an image header"
            ),
        )
        flags: Offsets = take_fixed(data, starts, 4, _U32)[:, 0].astype(np.int64)
        label = self._label
        wanted = flags if label.kind == "ragged" else np.full_like(flags, sum(label.shape))
        refuse(
            (flags != wanted) | (IRHEADER.itemsize + 4 * flags > lengths),
            lambda row: (
                f"the image header counts {flags[row]} further labels in a record of "
                f"{lengths[row]} bytes, where field {label.name!r} is {label.spec}"
            ),
        )
        return flags


def _check_whole(labels: NDArray[np.float32], field: Field) -> None:
    """Refuses a label that an integer field cannot have been written from."""
    limits = np.iinfo(field.dtype)
    low, high = max(limits.min, -LABEL_LIMIT), min(limits.max, LABEL_LIMIT)
    # A NaN fails every comparison, so it is refused too.
    good = (labels >= low) & (labels <= high) & (labels == np.trunc(labels))
    refuse(~good, lambda row: f"label {labels[row]} where field {field.name!r} is {field.spec}")
