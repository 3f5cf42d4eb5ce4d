"""Records in one buffer, on their way from their frames to columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.recordio.damage import Damage, Damages, spread
from forebay.formats.recordio.frame import framing_problem
from forebay.formats.recordio.gather import Offsets, starts_of
from forebay.formats.recordio.layout import RowErrors, Spans, Take
from forebay.kernels.crc import crc32c
from forebay.kernels.frames import CHECKSUM, FRAMING, open_frames

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.formats.codecs.codec import Codec
    from forebay.formats.column import Column
    from forebay.formats.record import Schema
    from forebay.formats.recordio.layout import Layout


def opened(framed: Spans, raw: NDArray[np.uint32] | None, damage: Damage) -> Spans:
    """The payloads of framed records, each checked against the index; joined in their buffer.

    Args:
        raw: (n,) bytes that each payload must have, or None: not known.
    """
    crcs = damage.index.crc32c
    expected = None if crcs is None else crcs[damage.chosen.where]
    starts, lengths, faults = open_frames(framed.data, framed.starts, framed.lengths, expected, raw)
    if faults is None:
        return Spans(framed.data, starts, lengths)
    for i in np.flatnonzero(faults).tolist():
        a, n = int(framed.starts[i]), int(framed.lengths[i])
        if faults[i] == CHECKSUM and expected is not None:
            damage.add_checksum(i, crc32c(framed.data[a : a + n].data), int(expected[i]))
        elif faults[i] == FRAMING:
            damage.add_malformed(i, framing_problem(framed.data[a : a + n]))
        elif raw is not None:
            what = f"the record has {lengths[i]} bytes, its index says {raw[i]}"
            damage.add_malformed(i, what)
    lengths[faults != 0] = 0
    return Spans(framed.data, starts, lengths)


def decompressed(codec: Codec, payloads: Spans, raw: Offsets, damage: Damage, take: Take) -> Spans:
    """Records decompressed one behind the other; `raw` is (n,) what the index says of each."""
    lengths = raw
    if damage.errors:
        lengths = np.where(np.isin(np.arange(len(raw)), damage.good()), raw, 0)
    starts = starts_of(lengths)
    out = take(int(lengths.sum()))
    records = Spans(out, starts, lengths)
    for i in codec.decompress_many(payloads, records).tolist():
        a, n = int(payloads.starts[i]), int(payloads.lengths[i])
        b, m = int(starts[i]), int(lengths[i])
        _explain(codec, payloads.data[a : a + n].data, out[b : b + m], i, damage)
    return records


def _explain(
    codec: Codec, frame: memoryview, out: NDArray[np.uint8], i: int, damage: Damage
) -> None:
    """Says what is wrong with a frame that did not decompress."""
    try:
        claimed = codec.raw_size(frame)
        if claimed != len(out):
            damage.add_malformed(i, f"its frame holds {claimed} bytes, its index says {len(out)}")
            return
        codec.decompress_into(frame, out)
    except ValueError as e:
        damage.add_malformed(i, f"the record does not decompress: {e}")


def parsed_of(
    layout: Layout,
    records: Spans,
    columns: Schema,
    damage: Damage | Damages,
    back: Offsets | None,
    take: Take,
) -> dict[str, Column]:
    """The columns of the rows asked for, `back` their places among the records (None: all).

    Each round leaves out every record that one of the layout's checks refuses, so there are at most
    as many rounds as it has checks.
    """
    places = np.arange(damage.count) if back is None else back
    while True:
        at = np.flatnonzero(np.isin(places, damage.good())) if damage.errors else None
        rows = places if at is None else places[at]
        asked = records if at is None and back is None else records.at(rows)
        try:
            parsed = layout.parse(asked, columns, take)
        except RowErrors as e:
            for row, what in e.rows.items():
                damage.add_malformed(int(rows[row]), what)
            continue
        return parsed if at is None else spread(parsed, at, len(places))
