"""dmlc framing: payloads to parts, and back (SPEC.md, 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.recordio.gather import Bytes, Offsets, starts_of
from forebay.formats.recordio.layout import Records
from forebay.kernels.align import aligned_empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = 0xCED7230A
MAGIC_BYTES = MAGIC.to_bytes(4, "little")
PART_HEADER = 8
MAX_PAYLOAD = (1 << 29) - 1
WHOLE, FIRST, MIDDLE, LAST = range(4)

_WORD = np.dtype("<u4")
_MAGIC_ARRAY = np.frombuffer(MAGIC_BYTES, np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Framed:
    """Framed records one behind the other: `data` (n,) uint8, starts and lengths (rows,) int64."""

    data: Bytes
    starts: Offsets
    lengths: Offsets


def padded(length: int) -> int:
    """`length` rounded up to a multiple of 4."""
    return (length + 3) & ~3


def framed(records: Records) -> Framed:
    """The records in frames; each is at most MAX_PAYLOAD bytes, which the caller has checked."""
    payload = records.lengths
    lengths = PART_HEADER + ((payload + 3) & ~3)
    starts = starts_of(lengths)
    data = aligned_empty(int(lengths.sum()))
    words = data.view(_WORD)
    words[(starts + lengths) // 4 - 1] = 0  # the padding
    words[starts // 4] = MAGIC
    words[starts // 4 + 1] = payload
    records.lay_into(data, starts + PART_HEADER)
    # Payloads begin aligned, and neither a length nor a padded word can equal the magic, so
    # every match beyond the headers is one that a payload must be cut at.
    matches = np.flatnonzero(words == MAGIC) * 4
    if len(matches) == len(starts):
        return Framed(data, starts, lengths)
    return _cut(Framed(data, starts, lengths), payload, matches)


def _cut(whole: Framed, payload: Offsets, matches: Offsets) -> Framed:
    """The same records with those that contain the magic as several parts."""
    owner = np.searchsorted(whole.starts, matches, "right") - 1
    inner = matches != whole.starts[owner]
    matches, owner = matches[inner], owner[inner]
    lengths = whole.lengths.copy()
    pieces: list[Bytes] = []
    kept = 0
    for row in np.unique(owner).tolist():
        start = int(whole.starts[row])
        body = whole.data[start + PART_HEADER : start + PART_HEADER + int(payload[row])]
        cuts = (matches[owner == row] - start - PART_HEADER).tolist()
        parts = _parts(body, cuts)
        pieces += [whole.data[kept:start], *parts]
        lengths[row] = sum(map(len, parts))
        kept = start + int(whole.lengths[row])
    pieces.append(whole.data[kept:])
    return Framed(np.concatenate(pieces), starts_of(lengths), lengths)


def _parts(body: Bytes, cuts: list[int]) -> list[Bytes]:
    """Headers, runs and padding of a payload that has the magic at each of `cuts`."""
    pieces: list[Bytes] = []
    start = 0
    for i, stop in enumerate([*cuts, len(body)]):
        cflag = FIRST if i == 0 else LAST if i == len(cuts) else MIDDLE
        header = np.array([MAGIC, cflag << 29 | (stop - start)], _WORD).view(np.uint8)
        padding = np.zeros(-(stop - start) % 4, np.uint8)
        pieces += [header, body[start:stop], padding]
        start = stop + 4
    return pieces


def payloads_of(
    data: Bytes, starts: Offsets, lengths: Offsets
) -> tuple[Offsets, Offsets, dict[int, str]]:
    """Where the payloads of framed records lie: (starts, lengths) in `data`, and what is wrong.

    `kernels.frames.open_frames` does the same faster; this says why a record is refused.
    Records of several parts are joined in place, so `data` must be the caller's own and each record
    be named once. Starts and lengths are multiples of 4 inside `data`, lengths at least 8.

    Returns:
        The third: of each row that is not framed as its length says, why; its length is 0.
    """
    words: NDArray[np.uint32] = data[: len(data) & ~3].view(_WORD)
    magics = words[starts // 4]
    wrong: dict[int, str] = {
        row: f"a record begins with {magics[row]:#010x} where the magic {MAGIC:#x} belongs"
        for row in np.flatnonzero(magics != MAGIC).tolist()
    }
    lrec = words[starts // 4 + 1].astype(np.int64)
    cflag, sizes = lrec >> 29, lrec & MAX_PAYLOAD
    unfilled = (cflag == WHOLE) & (PART_HEADER + ((sizes + 3) & ~3) != lengths)
    for row in np.flatnonzero(unfilled).tolist():
        what = f"its header says {sizes[row]} bytes, which do not fill a frame of {lengths[row]}"
        wrong.setdefault(row, what)
    for row in np.flatnonzero(cflag != WHOLE).tolist():
        if row in wrong:
            continue
        try:
            sizes[row] = _join(data, int(starts[row]), int(lengths[row]))
        except _BadPart as e:
            wrong[row] = str(e)
    sizes[list(wrong)] = 0
    return starts + PART_HEADER, sizes, wrong


class _BadPart(ValueError):
    """A record of several parts is not framed as it must be."""


def _join(data: Bytes, start: int, length: int) -> int:
    """Moves the parts of one record together behind its first header; the payload's length."""
    at, stop = start, start + length
    out = start + PART_HEADER
    expected: tuple[int, ...] = (FIRST,)
    while True:
        if stop - at < PART_HEADER:
            raise _BadPart("the record ends before its last part")
        magic, lrec = (int(w) for w in data[at : at + PART_HEADER].view(_WORD))
        cflag, size = lrec >> 29, lrec & MAX_PAYLOAD
        problem = part_problem(magic, cflag, size, expected)
        if problem:
            raise _BadPart(problem)
        if padded(size) > stop - at - PART_HEADER:
            raise _BadPart(f"a part of {size} bytes reaches beyond its record")
        if cflag != FIRST:
            data[out : out + 4] = _MAGIC_ARRAY
            out += 4
            data[out : out + size] = data[at + PART_HEADER : at + PART_HEADER + size]
        out += size
        at += PART_HEADER + padded(size)
        if cflag == LAST:
            break
        expected = (MIDDLE, LAST)
    if at != stop:
        raise _BadPart(f"{stop - at} bytes follow the record's last part")
    return out - start - PART_HEADER


def framing_problem(record: Bytes) -> str:
    """What is wrong with a framed record of which the native walk says that something is."""
    copy = aligned_empty(len(record))
    copy[:] = record
    _, _, wrong = payloads_of(copy, np.zeros(1, np.int64), np.array([len(record)]))
    return wrong.get(0, "its parts are not framed as they must be")


def part_problem(magic: int, cflag: int, size: int, expected: tuple[int, ...]) -> str:
    """What is wrong with a part's header, or ""; `expected` are the flags that may come here."""
    if magic != MAGIC:
        return f"a part begins with {magic:#010x} where the magic {MAGIC:#x} belongs"
    if cflag not in expected:
        allowed = " or ".join(map(str, expected))
        return f"continuation flag {cflag} where {allowed} must come"
    if cflag in (FIRST, MIDDLE) and size % 4:
        return f"a part that is continued has {size} bytes, no multiple of 4"
    return ""
