"""The columns of our own row groups that need no decoder but ours: PLAIN pages, no lists.

What is not of this form, or turns out to be damaged, is left to Arrow, which says what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.column import Column, FixedColumn, Valid, VarColumn
from forebay.formats.parquet.metadata import BYTE_ARRAY
from forebay.kernels.columns import interleave
from forebay.kernels.plain import PlainChunk, decode_plain
from forebay.kernels.zstd import zstd_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from forebay.formats.parquet.chunks import Fetched
    from forebay.formats.parquet.footer import Footer
    from forebay.formats.parquet.metadata import RowGroup
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

    Columns view a few buffers that they share, and that are the caller's. Scalars of one width lie
    side by side: a row of a shuffled block is read whole, and so takes few cache lines.

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
    beside, apart = _by_width(usable)
    found: dict[str, Column] = {}
    for several in beside:
        found |= _together(_decoded(several, fetched, group, take), take)
    if apart:
        single = _decoded(apart, fetched, group, take)
        for form, chunk in zip(single.forms, single.chunks, strict=True):
            found[form.field.name] = _column(form, chunk, single)
    return {name: found[name] for name in forms if name in found}


def _by_width(forms: list[PlainForm]) -> tuple[list[list[PlainForm]], list[PlainForm]]:
    """Scalars that others have the width of, by width, and all the rest."""
    widths: dict[int, list[PlainForm]] = {}
    for form in forms:
        if form.field.kind == "fixed" and form.stored == form.field.element:
            widths.setdefault(form.stored.itemsize, []).append(form)
    beside = [several for several in widths.values() if len(several) > 1]
    names = {form.field.name for several in beside for form in several}
    return beside, [form for form in forms if form.field.name not in names]


@dataclass(frozen=True, slots=True, eq=False)
class _Decoded:
    """Chunks of one row group, and what they were decoded to."""

    forms: list[PlainForm]
    chunks: list[PlainChunk]
    out: NDArray[np.uint8]
    spans: NDArray[np.int64]
    valid: NDArray[np.uint8]


def _decoded(
    forms: list[PlainForm],
    fetched: Fetched,
    group: RowGroup,
    take: Callable[[int], NDArray[np.uint8]],
) -> _Decoded:
    chunks: list[PlainChunk] = []
    out = spans = valid = 0
    for form in forms:
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
    made = _Decoded(
        forms, chunks, take(out), take(8 * spans).view(np.int64), np.empty(valid, np.uint8)
    )
    done = decode_plain(fetched.data, chunks, made.out, made.spans, made.valid)
    # The first that fails fails for all behind it: a damaged file is read slowly, but rightly.
    return replace(made, forms=forms[:done], chunks=chunks[:done])


def _together(decoded: _Decoded, take: Callable[[int], NDArray[np.uint8]]) -> dict[str, Column]:
    """Its columns, which are of one width, side by side in memory of their own."""
    forms, chunks = decoded.forms, decoded.chunks
    if not forms:
        return {}
    rows, width = chunks[0].values, chunks[0].width
    memory = take(len(forms) * rows * width)
    interleave(decoded.out, [chunk.out for chunk in chunks], rows, width, memory)
    table = memory.view(f"u{width}").reshape(rows, len(forms))
    return {
        form.field.name: FixedColumn(table[:, i].view(form.stored), _valid(chunk, decoded))
        for i, (form, chunk) in enumerate(zip(forms, chunks, strict=True))
    }


def _valid(chunk: PlainChunk, decoded: _Decoded) -> Valid:
    if chunk.valid < 0:
        return None
    present = decoded.valid[chunk.valid : chunk.valid + chunk.values].view(np.bool_)
    return None if present.all() else present


def _column(form: PlainForm, chunk: PlainChunk, decoded: _Decoded) -> Column:
    rows, valid = chunk.values, _valid(chunk, decoded)
    if chunk.width:
        values = decoded.out[chunk.out : chunk.out + rows * chunk.width].view(form.stored)
        return FixedColumn(values.astype(form.field.element, copy=False), valid)
    starts = decoded.spans[chunk.spans : chunk.spans + rows]
    lengths = decoded.spans[chunk.spans + rows : chunk.spans + 2 * rows]
    return VarColumn(decoded.out, starts, lengths, valid)
