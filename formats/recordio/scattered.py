"""Records from anywhere in a dataset, read as one block: few requests, and no Python for each."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.codecs.none import NoCodec
from forebay.formats.recordio.damage import Damage, Damages
from forebay.formats.recordio.layout import Spans
from forebay.formats.recordio.selection import Reads, Selection, reads_of
from forebay.formats.recordio.spans import decompressed, opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from forebay.formats.codecs.codec import Codec
    from forebay.formats.recordio.gather import Bytes, Offsets
    from forebay.formats.recordio.index import ShardIndex
    from forebay.formats.recordio.layout import Take
    from forebay.formats.shard import ReadTally, ShardEntry
    from forebay.formats.storage.source import ByteSource


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What is wanted of one shard.

    Args:
        numbers: (n,) of the records in the shard, ascending, each once.
    """

    shard: ShardEntry
    index: ShardIndex
    codec: Codec
    numbers: Offsets


@dataclass(frozen=True, slots=True, eq=False)
class _Planned:
    """A part, where its framed records come to lie, and the first of its places among all."""

    part: Part
    damage: Damage
    lengths: Offsets
    reads: Reads
    at: int
    first: int


def read_scattered(
    source: ByteSource, parts: Sequence[Part], take: Take, tally: ReadTally
) -> tuple[Spans, Damages]:
    """The records of all parts in one buffer, each checked; and which of them are damaged.

    The store is asked once for each shard, for ranges that are at most GAP bytes apart.

    Raises:
        MalformedShard: an index and the shard table disagree about a block.
        TruncatedShard: a file ends too early.
        StorageError: the store failed.
    """
    planned = _planned(parts)
    compressed = any(not isinstance(p.codec, NoCodec) for p in parts)
    began = time.perf_counter()
    data = take(sum(p.reads.nbytes for p in planned))
    view = data.data
    for p in planned:
        ends = [p.at, *(p.at + stop for stop in p.reads.stops)]
        outs = [view[a:b] for a, b in itertools.pairwise(ends)]
        source.read_into(p.part.shard.file, p.reads.offsets, outs)
        tally.requests += 1
        tally.bytes += p.reads.nbytes
    read = time.perf_counter()
    tally.read_s += read - began

    def payloads(p: _Planned) -> Spans:
        framed = Spans(data, p.reads.starts + p.at, p.lengths)
        return opened(framed, None if compressed else _raw(p), p.damage)

    found = [payloads(p) for p in planned]
    checked = time.perf_counter()
    tally.check_s += checked - read
    if compressed:
        out = take(sum(int(_raw(p).sum()) for p in planned))
        found = _unpacked(planned, found, _divided(out))
        data = out
        tally.decompress_s += time.perf_counter() - checked
    return _joined(data, found), Damages([(p.first, p.damage) for p in planned])


def _planned(parts: Sequence[Part]) -> list[_Planned]:
    planned: list[_Planned] = []
    at = first = 0
    for part in parts:
        chosen = Selection(part.numbers, 0, len(part.numbers))
        damage = Damage(part.shard, None, part.index, chosen)
        lengths = part.index.length[part.numbers].astype(np.int64)
        reads = reads_of(part.index, chosen, lengths)
        damage.check_blocks()
        planned.append(_Planned(part, damage, lengths, reads, at, first))
        at += reads.nbytes
        first += chosen.count
    return planned


def _raw(planned: _Planned) -> NDArray[np.uint32]:
    return planned.part.index.raw_length[planned.part.numbers]


def _divided(out: Bytes) -> Take:
    """Hands out `out` from its first byte on."""
    at = 0

    def take(nbytes: int) -> Bytes:
        nonlocal at
        at += nbytes
        return out[at - nbytes : at]

    return take


def _unpacked(planned: Sequence[_Planned], payloads: list[Spans], take: Take) -> list[Spans]:
    unpacked: list[Spans] = []
    at = 0
    for p, spans in zip(planned, payloads, strict=True):
        raw = _raw(p).astype(np.int64)
        records = decompressed(p.part.codec, spans, raw, p.damage, take)
        unpacked.append(Spans(records.data, records.starts + at, records.lengths))
        at += len(records.data)
    return unpacked


def _joined(data: Bytes, found: list[Spans]) -> Spans:
    if len(found) == 1:
        return Spans(data, found[0].starts, found[0].lengths)
    none = [np.empty(0, np.int64)]
    starts = np.concatenate(none + [s.starts for s in found])
    return Spans(data, starts, np.concatenate(none + [s.lengths for s in found]))
