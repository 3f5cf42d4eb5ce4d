"""Framing against a second implementation, written here from the page alone."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.formats.column import VarColumn
from forebay.formats.recordio.frame import Framed, framed, payloads_of
from forebay.formats.recordio.layout import Records

MAGIC = struct.pack("<I", 0xCED7230A)
payloads = st.lists(
    st.lists(st.sampled_from([MAGIC, b"a", b"bcde", MAGIC[:3]]), max_size=7).map(b"".join),
    max_size=6,
)


def part(cflag, data):
    return MAGIC + struct.pack("<I", cflag << 29 | len(data)) + data + bytes(-len(data) % 4)


def reference(payload):
    cuts = [i for i in range(0, len(payload) - 3, 4) if payload[i : i + 4] == MAGIC]
    starts, stops = [0, *(c + 4 for c in cuts)], [*cuts, len(payload)]
    runs = [payload[a:b] for a, b in zip(starts, stops, strict=True)]
    flags = [0] if not cuts else [1, *[2] * (len(cuts) - 1), 3]
    return b"".join(map(part, flags, runs))


def frames_of(bodies) -> Framed:
    lengths = np.array([len(b) for b in bodies], np.int64)
    column = VarColumn(
        np.frombuffer(b"".join(bodies), np.uint8), np.cumsum(lengths) - lengths, lengths
    )
    return framed(Records(np.empty((len(bodies), 0), np.uint8), (column,)))


@given(payloads)
def test_frames_are_those_of_the_page(bodies):
    got = frames_of(bodies)
    expected = [reference(b) for b in bodies]
    assert got.data.tobytes() == b"".join(expected)
    assert got.lengths.tolist() == [len(e) for e in expected]
    assert got.starts.tolist() == [sum(map(len, expected[:i])) for i in range(len(expected))]


@given(payloads)
def test_payloads_come_back(bodies):
    got = frames_of(bodies)
    data = got.data.copy()
    starts, lengths, wrong = payloads_of(data, got.starts, got.lengths)
    assert not wrong
    spans = zip(starts, lengths, strict=True)
    assert [data[a : a + n].tobytes() for a, n in spans] == bodies


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([part(2, b"abcd"), part(3, b"")], "flag 2"),
        ([part(3, b"abcd")], "flag 3"),
        ([part(4, b"abcd")], "flag 4"),
        ([part(7, b"abcd")], "flag 7"),
        ([part(1, b"abcd")], "ends before its last part"),
        ([part(1, b"abcd"), part(2, b"abcd")], "ends before its last part"),
        ([part(1, b"abcd"), part(1, b"abcd"), part(3, b"")], "flag 1"),
        ([part(1, b"abcd"), part(0, b"abcd")], "flag 0"),
        ([part(1, b"abc"), part(3, b"abcd")], "no multiple of 4"),
        ([part(1, b"abcd"), part(3, b""), part(3, b"")], "follow the record's last part"),
        ([part(0, b"abcd"), part(0, b"abcd")], "do not fill"),
        ([MAGIC + struct.pack("<I", 0x1FFFFFFF)], "do not fill"),
        ([part(1, b"abcd"), MAGIC + struct.pack("<I", 3 << 29 | 0x1FFFFFFF)], "beyond its record"),
        ([b"\0" * 8], "magic"),
        ([part(1, b"abcd"), b"\0" * 8], "magic"),
    ],
)
def test_forbidden_frames_name_their_row(parts, says):
    good, bad = part(0, b"fine"), b"".join(parts)
    bodies = [good, bad, part(1, b"more") + part(3, b"!"), bad]
    lengths = np.array([len(b) for b in bodies])
    data = np.frombuffer(b"".join(bodies), np.uint8).copy()
    starts, sizes, wrong = payloads_of(data, np.cumsum(lengths) - lengths, lengths)
    assert sorted(wrong) == [1, 3]
    assert all(re.search(says, what) for what in wrong.values())
    assert sizes.tolist() == [4, 0, 9, 0]
    assert data[starts[2] : starts[2] + 9].tobytes() == b"more" + MAGIC + b"!"
