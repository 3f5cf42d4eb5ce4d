"""The native walk over frames against the plain one of formats.recordio.frame."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.formats.recordio.frame import payloads_of
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c_ranges
from forebay.kernels.frames import CHECKSUM, FRAMING, SIZE, open_frames

MAGIC = struct.pack("<I", 0xCED7230A)


def part(cflag, data, size=None):
    header = struct.pack("<I", cflag << 29 | (len(data) if size is None else size))
    return MAGIC + header + data + bytes(-len(data) % 4)


bodies = st.lists(st.sampled_from([MAGIC, b"a", b"bcde", MAGIC[:3]]), max_size=5).map(b"".join)
parts = st.builds(part, st.integers(0, 7), bodies, st.none() | st.integers(0, 40))
junk = st.binary(min_size=8, max_size=24).map(lambda b: b[: len(b) & ~3])
whole = st.builds(part, st.just(0), bodies)
several = st.builds(
    lambda a, m, z: part(1, a) + b"".join(part(2, x) for x in m) + part(3, z),
    bodies.map(lambda b: b[: len(b) & ~3]),
    st.lists(bodies.map(lambda b: b[: len(b) & ~3]), max_size=3),
    bodies,
)
framed = st.lists(
    whole | several | junk | st.lists(parts, min_size=1, max_size=4).map(b"".join), max_size=8
)


def laid(records):
    data = aligned_empty(sum(map(len, records)))
    data[:] = np.frombuffer(b"".join(records), np.uint8)
    lengths = np.array([len(r) for r in records], np.int64)
    return data, np.cumsum(lengths) - lengths, lengths


@given(framed)
def test_as_the_plain_walk(records):
    data, starts, lengths = laid(records)
    twin = data.copy()
    expected_starts, expected_lengths, wrong = payloads_of(twin, starts, lengths)
    got_starts, got_lengths, faults = open_frames(data, starts, lengths)
    assert (got_starts == expected_starts).all()
    assert (got_lengths == expected_lengths).all()
    bad = [] if faults is None else np.flatnonzero(faults).tolist()
    assert bad == sorted(wrong)
    assert faults is None or set(faults.tolist()) <= {0, FRAMING}
    for i in range(len(records)):
        a, n = int(got_starts[i]), int(got_lengths[i])
        assert data[a : a + n].tobytes() == twin[a : a + n].tobytes()


def test_each_fault_is_its_own_and_the_first_that_applies():
    records = [part(0, b"abcd"), part(0, b"efgh"), part(0, b"ijk"), part(5, b"no"), part(0, b"")]
    data, starts, lengths = laid(records)
    crcs = crc32c_ranges(data, starts, lengths)
    sizes = np.array([4, 4, 4, 2, 0], np.uint32)
    data[starts[1] + 8] ^= 1
    at, size, faults = open_frames(data, starts, lengths, crcs, sizes)
    assert faults is not None
    assert faults.tolist() == [0, CHECKSUM, SIZE, FRAMING, 0]
    assert size.tolist() == [4, 0, 3, 0, 0]
    assert data[at[0] : at[0] + 4].tobytes() == b"abcd"
    crcs[3] ^= 1
    _, _, faults = open_frames(data, starts, lengths, crcs, sizes)
    assert faults is not None
    assert faults[3] == CHECKSUM


def test_a_damaged_record_of_several_parts_is_left_as_it_was():
    records = [part(1, b"abcd") + part(3, b"ef"), part(1, b"abcd") + part(2, b"ef")]
    data, starts, lengths = laid(records)
    before = data.copy()
    _, size, faults = open_frames(data, starts, lengths)
    assert faults is not None
    assert faults.tolist() == [0, FRAMING]
    assert size[0] == 10  # with the magic between the two
    assert (data[starts[1] :] == before[starts[1] :]).all()


def test_many_records_of_all_lengths_keep_their_checks():
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 1500, 700)
    records = [part(0, rng.bytes(int(n))) for n in sizes]
    data, starts, lengths = laid(records)
    crcs = crc32c_ranges(data, starts, lengths)
    hit = rng.choice(700, 40, replace=False)
    for i in hit.tolist():
        data[starts[i] + rng.integers(0, lengths[i])] ^= 1 << int(rng.integers(0, 8))
    _, _, faults = open_frames(data, starts, lengths, crcs, sizes.astype(np.uint32))
    assert faults is not None
    assert np.flatnonzero(faults).tolist() == sorted(hit.tolist())
    assert set(faults[hit].tolist()) == {CHECKSUM}


@pytest.mark.parametrize(
    ("start", "length"), [(-4, 8), (0, 4), (2, 8), (0, 10), (8, 12), (1 << 62, 8), (4, 1 << 62)]
)
def test_records_outside_are_refused_before_anything_is_read(start, length):
    data = aligned_empty(16)
    spans = np.array([0, start], np.int64), np.array([8, length], np.int64)
    with pytest.raises(IndexError, match="record 1"):
        open_frames(data, *spans)


def test_arrays_that_do_not_fit():
    data, starts, lengths = laid([part(0, b"abcd")])
    with pytest.raises(ValueError, match="one size"):
        open_frames(data, starts, np.append(lengths, 8))
    with pytest.raises(ValueError, match="one size"):
        open_frames(data, starts, lengths, np.zeros(2, np.uint32))
    with pytest.raises(TypeError):
        open_frames(data, starts.astype(np.int32), lengths)
    data.flags.writeable = False
    with pytest.raises(TypeError):
        open_frames(data, starts, lengths)


def test_no_records():
    none = np.empty(0, np.int64)
    starts, lengths, faults = open_frames(aligned_empty(0), none, none)
    assert (len(starts), len(lengths), faults) == (0, 0, None)
