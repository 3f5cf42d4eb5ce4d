"""Records in one buffer, on their way from their frames to columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.recordio.damage import Damage, spread
from forebay.formats.recordio.gather import Bytes, Offsets, starts_of
from forebay.formats.recordio.layout import RowErrors
from forebay.kernels.align import aligned_empty

if TYPE_CHECKING:
    from forebay.formats.codecs.codec import Codec
    from forebay.formats.column import Column
    from forebay.formats.record import Schema
    from forebay.formats.recordio.layout import Layout


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Where each of the records that were read lies in `data`; of no length where it is damaged."""

    data: Bytes
    starts: Offsets
    lengths: Offsets

    @staticmethod
    def of(data: Bytes, at: Offsets, starts: Offsets, lengths: Offsets, count: int) -> Spans:
        """The spans of `count` records, of which those at the places `at` are given."""
        if len(at) == count:
            return Spans(data, starts, lengths)
        all_starts, all_lengths = np.zeros((2, count), np.int64)
        all_starts[at], all_lengths[at] = starts, lengths
        return Spans(data, all_starts, all_lengths)


def decompressed(codec: Codec, payloads: Spans, raw: Offsets, damage: Damage) -> Spans:
    """Records decompressed one behind the other; `raw` is (n,) what the index says of each."""
    view = payloads.data.data
    spans = list(zip(payloads.starts.tolist(), payloads.lengths.tolist(), strict=True))
    # Every frame's own claim first: nothing is allocated for records that cannot be good.
    for i in damage.good().tolist():
        a, n = spans[i]
        try:
            claimed = codec.raw_size(view[a : a + n])
        except ValueError as e:
            damage.add_malformed(i, f"the record does not decompress: {e}")
            continue
        if claimed != raw[i]:
            damage.add_malformed(i, f"its frame holds {claimed} bytes, its index says {raw[i]}")
    good = damage.good()
    lengths = np.zeros(len(raw), np.int64)
    lengths[good] = raw[good]
    starts = starts_of(lengths)
    out = aligned_empty(int(lengths.sum()))
    places = list(zip(starts.tolist(), lengths.tolist(), strict=True))
    for i in good.tolist():
        (a, n), (b, m) = spans[i], places[i]
        try:
            codec.decompress_into(view[a : a + n], out[b : b + m])
        except ValueError as e:
            damage.add_malformed(i, f"the record does not decompress: {e}")
    return Spans(out, starts, lengths)


def parsed_of(
    layout: Layout, records: Spans, columns: Schema, damage: Damage, back: Offsets | None
) -> dict[str, Column]:
    """The columns of the rows asked for, `back` their places among the records (None: all).

    Each round leaves out every record that one of the layout's checks refuses, so there are at most
    as many rounds as it has checks.
    """
    places = np.arange(len(records.starts)) if back is None else back
    while True:
        at = np.flatnonzero(np.isin(places, damage.good())) if damage.errors else None
        rows = places if at is None else places[at]
        try:
            parsed = layout.parse(
                records.data, records.starts[rows], records.lengths[rows], columns
            )
        except RowErrors as e:
            for row, what in e.rows.items():
                damage.add_malformed(int(rows[row]), what)
            continue
        return parsed if at is None else spread(parsed, at, len(places))
