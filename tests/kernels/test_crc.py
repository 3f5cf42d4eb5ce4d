"""CRC-32C: known answers, the hardware against the tables, ranges, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels import crc

# RFC 3720, appendix B.4; the last is the check value of CRC catalogues.
KNOWN = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (
        bytes.fromhex(
            "01c00000000000000000000000000000140000000000040000000014"
            "000000182800000000000000" + "0200000000000000"
        ),
        0xD9963A56,
    ),
    (b"123456789", 0xE3069283),
    (b"", 0),
]
NOISE = np.random.default_rng(1).integers(0, 256, 3 * 4096 * 2 + 1000, dtype=np.uint8)


@pytest.mark.parametrize(("data", "expected"), KNOWN)
def test_known_answers(data, expected):
    assert crc.crc32c(data) == expected
    assert crc.crc32c_portable(data) == expected


def test_backend_is_named():
    assert crc.crc32c_backend() in {"sse4.2", "armv8", "portable"}


@given(
    st.integers(0, 70),
    st.integers(0, NOISE.size - 70),
    st.integers(0, 2**32 - 1),
)
def test_hardware_equals_tables_at_any_alignment(start, size, value):
    piece = NOISE[start : start + size]
    assert crc.crc32c(piece, value) == crc.crc32c_portable(piece, value)


@given(st.integers(0, NOISE.size))
def test_pieces_continue(cut):
    whole = crc.crc32c(NOISE)
    assert crc.crc32c(NOISE[cut:], crc.crc32c(NOISE[:cut])) == whole


def test_every_single_bit_flip_is_seen():
    data = bytearray(NOISE[:200].tobytes())
    good = crc.crc32c(data)
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << (bit % 8)
        assert crc.crc32c(data) != good
        data[bit // 8] ^= 1 << (bit % 8)


@pytest.mark.parametrize(
    "wrap",
    [
        bytes,
        bytearray,
        memoryview,
        pa.py_buffer,
        lambda b: np.frombuffer(b, np.int8),
        lambda b: np.frombuffer(b, "<f4").reshape(5, 4),
        lambda b: memoryview(b).cast("B", (10, 8)),
    ],
)
def test_any_contiguous_buffer(wrap):
    data = NOISE[:80].tobytes()
    assert crc.crc32c(wrap(data)) == crc.crc32c_portable(data)


def test_what_is_refused():
    with pytest.raises(ValueError, match="contiguous"):
        crc.crc32c(NOISE[::2])
    with pytest.raises(BufferError):
        crc.crc32c(memoryview(bytes(10))[::2])
    with pytest.raises(TypeError):
        crc.crc32c("text")
    for value in (-1, 2**32):
        with pytest.raises(ValueError, match=f"got {value}"):
            crc.crc32c(b"x", value)


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5000)), max_size=20))
def test_ranges_equal_single_calls(ranges):
    starts = [start for start, _ in ranges]
    lengths = [length for _, length in ranges]
    got = crc.crc32c_ranges(NOISE, starts, lengths)
    assert got.dtype == np.uint32
    assert got.tolist() == [crc.crc32c(NOISE[s : s + n]) for s, n in ranges]


def test_ranges_take_strided_and_narrow_offsets():
    starts = np.arange(20, dtype=np.int32)[::2]
    lengths = np.full((10,), 7, np.uint8)
    got = crc.crc32c_ranges(NOISE.tobytes(), starts, lengths)
    assert got.tolist() == [crc.crc32c(NOISE[s : s + 7]) for s in starts]


@pytest.mark.parametrize(
    ("start", "length"),
    [(-1, 1), (0, -1), (11, 0), (10, 1), (0, 11), (2**63 - 1, 2**63 - 1), (5, 2**63 - 1)],
)
def test_a_range_outside_is_named(start, length):
    with pytest.raises(IndexError, match=rf"range 1 \(start {start}, length {length}\).*10 bytes"):
        crc.crc32c_ranges(bytes(10), [0, start], [10, length])


def test_ranges_refuse_shapes_and_types():
    with pytest.raises(ValueError, match="one size, got 2, 1 and 2"):
        crc.crc32c_ranges(bytes(10), [0, 1], [1])
    with pytest.raises(ValueError, match="1-D"):
        crc.crc32c_ranges(bytes(10), np.zeros((2, 2), np.int64), [1])
    with pytest.raises(TypeError, match="float64"):
        crc.crc32c_ranges(bytes(10), np.zeros(1), [1])
    with pytest.raises(TypeError, match="uint64"):
        crc.crc32c_ranges(bytes(10), np.zeros(1, np.uint64), [1])


def test_no_ranges():
    assert crc.crc32c_ranges(b"", [], []).shape == (0,)


def test_short_ranges_side_by_side_equal_single_calls():
    rng = np.random.default_rng(9)
    data = rng.integers(0, 256, 50_000, dtype=np.uint8)
    # All sizes at which three run together, those below and above, and ends of every number.
    for count in (1, 2, 3, 4, 5, 700):
        lengths = rng.choice(np.r_[0:30, 300:320, 760:775, 2000:2010], count)
        starts = rng.integers(0, len(data) - lengths + 1)
        expected = [crc.crc32c(data[a : a + n]) for a, n in zip(starts, lengths, strict=True)]
        assert crc.crc32c_ranges(data, starts, lengths).tolist() == expected
