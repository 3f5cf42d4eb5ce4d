"""The columns of our own row groups that need no decoder but ours: PLAIN pages, no lists.

What is not of this form, or turns out to be damaged, is left to Arrow, which says what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.column import Column, FixedColumn, VarColumn
from forebay.formats.parquet.metadata import BYTE_ARRAY
from forebay.kernels.plain import PlainChunk, decode_plain
from forebay.kernels.zstd import zstd_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from forebay.formats.parquet.chunks import Fetched
    from forebay.formats.parquet.footer import Footer
    from forebay.formats.record import Field, Schema

_INT32, _INT64, _FLOAT, _DOUBLE, _FIXED_BYTES = 1, 2, 4, 5, 7
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class PlainForm:
    """How a field lies in its column chunks: its leaf, and its dtype there."""

    field: Field
    leaf: int
    stored: np.dtype[np.generic]
    levels: int


def plain_forms(footer: Footer, columns: Schema) -> dict[str, PlainForm]:
    """Of those columns of a file of ours that may be read here, by name."""
    leaves = {leaf.path: i for i, leaf in enumerate(footer.metadata.leaves)}
    forms: dict[str, PlainForm] = {}
    for field in columns:
        path = (field.name, "bytes") if field.kind == "image" else (field.name,)
        at = leaves.get(path)
        if at is None:
            continue
        leaf = footer.metadata.leaves[at]
        stored = _stored(field, leaf.physical, leaf.width)
        if stored is not None and not leaf.repeated and leaf.levels <= 3:
            forms[field.name] = PlainForm(field, at, stored, leaf.levels)
    return forms


def _stored(field: Field, physical: int, width: int) -> np.dtype[np.generic] | None:
    if field.kind in ("text", "bytes", "image"):
        return np.dtype(np.uint8) if physical == BYTE_ARRAY else None
    if field.kind != "fixed" or field.shape:
        return None
    kind, size = field.element.kind, field.element.itemsize
    if kind in "iu" and physical == _INT32 and size < 4:
        return np.dtype(np.int32)
    wanted = {_INT32: "iu", _INT64: "iu", _FLOAT: "f", _DOUBLE: "f", _FIXED_BYTES: "f"}
    fits = kind in wanted.get(physical, "") and width == size
    return field.element if fits else None


def plain_columns(
    fetched: Fetched,
    footer: Footer,
    forms: dict[str, PlainForm],
    take: Callable[[int], NDArray[np.uint8]],
) -> dict[str, Column]:
    """The columns of a row group that are of this form and whole, by name.

    Columns view a few buffers that they share, and that are the caller's.

    Args:
        fetched: the checked chunks of all the forms' leaves.
        take: where memory comes from.
    """
    group = footer.metadata.groups[fetched.reads.block]
    usable = [
        form
        for form in forms.values()
        if not group.chunks[form.leaf].dictionary
        and (zstd_version() or not group.chunks[form.leaf].compressed)
    ]
    if not usable:
        return {}
    chunks: list[PlainChunk] = []
    out = spans = valid = 0
    for form in usable:
        chunk = group.chunks[form.leaf]
        variable = form.field.kind != "fixed"
        room = chunk.uncompressed if variable else group.rows * form.stored.itemsize
        chunks.append(
            PlainChunk(
                start=fetched.place(chunk.start),
                length=chunk.length,
                values=group.rows,
                uncompressed=chunk.uncompressed,
                width=0 if variable else form.stored.itemsize,
                levels=form.levels,
                zstd=int(chunk.compressed),
                text=int(form.field.kind == "text"),
                out=out,
                room=room,
                spans=spans,
                valid=valid if form.levels else -1,
            )
        )
        out += -(-room // _ALIGNMENT) * _ALIGNMENT
        spans += 2 * group.rows * variable
        valid += group.rows * (form.levels > 0)
    places = _Places(take(out), take(8 * spans).view(np.int64), np.empty(valid, np.uint8))
    done = decode_plain(fetched.data, chunks, places.out, places.spans, places.valid)
    # The first that fails fails for all behind it: a damaged file is read slowly, but rightly.
    return {
        form.field.name: _column(form, chunk, places)
        for form, chunk in zip(usable[:done], chunks[:done], strict=True)
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """What the columns of one row group are decoded to."""

    out: NDArray[np.uint8]
    spans: NDArray[np.int64]
    valid: NDArray[np.uint8]


def _column(form: PlainForm, chunk: PlainChunk, places: _Places) -> Column:
    rows = chunk.values
    valid = None
    if chunk.valid >= 0:
        present = places.valid[chunk.valid : chunk.valid + rows].view(np.bool_)
        valid = None if present.all() else present
    if chunk.width:
        values = places.out[chunk.out : chunk.out + rows * chunk.width].view(form.stored)
        return FixedColumn(values.astype(form.field.element, copy=False), valid)
    starts = places.spans[chunk.spans : chunk.spans + rows]
    lengths = places.spans[chunk.spans + rows : chunk.spans + 2 * rows]
    return VarColumn(places.out, starts, lengths, valid)
