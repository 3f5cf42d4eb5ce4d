"""Column chunks decoded by us against pyarrow, which wrote them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels.plain import PlainChunk, decode_plain
from forebay.kernels.zstd import zstd_version

CODECS = ["none", pytest.param("zstd", marks=pytest.mark.skipif(not zstd_version(), reason="zstd"))]


def chunk_of(array, codec="none", nullable=True, **options):
    """The bytes of the only column chunk of a file of this array, and its metadata."""
    schema = pa.schema([pa.field("a", array.type, nullable=nullable)])
    sink = pa.BufferOutputStream()
    settings = {"use_dictionary": False, "compression": codec, "data_page_version": "1.0"} | options
    pq.write_table(pa.Table.from_arrays([array], schema=schema), sink, **settings)
    data = sink.getvalue()
    column = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0).column(0)
    start = column.data_page_offset
    raw = np.frombuffer(data, np.uint8)[start : start + column.total_compressed_size]
    return raw.copy(), column


def decoded(raw, column, width, *, levels=1, text=0, values=None):
    rows = column.num_values if values is None else values
    uncompressed = column.total_uncompressed_size
    room = uncompressed if not width else rows * width
    guard = 64
    out = np.full(room + 2 * guard, 7, np.uint8)
    spans = np.full(2 * rows + 2, -9, np.int64)
    valid = np.full(rows + 2, 9, np.uint8)
    packed = int(column.compression != "UNCOMPRESSED")
    chunk = PlainChunk(
        0, len(raw), rows, uncompressed, width, levels, packed, text, guard, room, 1,
        1 if levels else -1,
    )  # fmt: skip
    done = decode_plain(raw, [chunk], out, spans, valid)
    assert (out[:guard] == 7).all()
    assert (out[guard + room :] == 7).all()
    assert (spans[0], spans[-1], valid[0], valid[-1]) == (-9, -9, 9, 9)
    return done == 1, out, spans[1:-1], valid[1:-1]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.float16])
@pytest.mark.parametrize("page", [1 << 20, 1000])
def test_numbers_without_nulls(codec, dtype, page):
    values = np.arange(5000).astype(dtype)
    raw, column = chunk_of(
        pa.array(values), codec, nullable=False, data_page_size=page, write_batch_size=64
    )
    good, out, _, _ = decoded(raw, column, values.itemsize, levels=0)
    assert good
    assert (out[64:-64].view(dtype) == values).all()


@pytest.mark.parametrize("codec", CODECS)
@given(st.lists(st.none() | st.integers(-(2**40), 2**40), min_size=1, max_size=200))
def test_numbers_with_nulls(codec, rows):
    raw, column = chunk_of(pa.array(rows, pa.int64()), codec)
    good, out, _, valid = decoded(raw, column, 8)
    assert good
    assert out[64:-64].view(np.int64).tolist() == [r or 0 for r in rows]
    assert valid.tolist() == [r is not None for r in rows]


@pytest.mark.parametrize("codec", CODECS)
@given(rows=st.lists(st.none() | st.text(max_size=40), min_size=1, max_size=60))
def test_text(codec, rows):
    raw, column = chunk_of(
        pa.array(rows, pa.string()), codec, data_page_size=100, write_batch_size=8
    )
    good, out, spans, valid = decoded(raw, column, 0, text=1)
    assert good
    starts, lengths = spans.reshape(2, -1).tolist()
    got = [out[a : a + n].tobytes().decode() for a, n in zip(starts, lengths, strict=True)]
    assert got == [r or "" for r in rows]
    assert valid.tolist() == [r is not None for r in rows]


def test_levels_of_a_struct():
    rows = [{"bytes": b"ab"}, {"bytes": None}, None, {"bytes": b""}] * 30
    kind = pa.struct([("bytes", pa.binary())])
    raw, column = chunk_of(pa.array(rows, kind))
    good, _, spans, valid = decoded(raw, column, 0, levels=2)
    assert good
    assert valid.tolist() == [1, 0, 0, 1] * 30
    assert spans.reshape(2, -1)[1].tolist() == [2, 0, 0, 0] * 30


def is_text(data):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@given(
    st.binary(min_size=1, max_size=12)
    | st.lists(
        st.sampled_from(
            [
                b"\xc1\x80",
                b"\xe0\x9f\xbf",
                b"\xed\xa0\x80",
                b"\xf4\x90\x80\x80",
                b"\xf0\x8f\xbf\xbf",
            ]
            + [c.encode() for c in "aé\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"]
        )
    ).map(b"".join)
)
def test_what_is_text(data):
    raw, column = chunk_of(pa.array([b"12345678" + data], pa.binary()))
    assert decoded(raw, column, 0, text=0)[0]
    assert decoded(raw, column, 0, text=1)[0] == is_text(data)


def test_other_forms_are_refused():
    words = pa.array(["a", "b"] * 50)
    raw, column = chunk_of(words, use_dictionary=True)
    assert not decoded(raw, column, 0)[0]
    numbers = pa.array(np.arange(100.0))
    raw, column = chunk_of(numbers, data_page_version="2.0")
    assert not decoded(raw, column, 8)[0]
    split = {"use_byte_stream_split": True}
    raw, column = chunk_of(numbers, nullable=False, **split)
    assert not decoded(raw, column, 8, levels=0)[0]
    raw, column = chunk_of(numbers, nullable=False)
    assert decoded(raw, column, 8, levels=0)[0]
    assert not decoded(raw, column, 4, levels=0)[0]
    assert not decoded(raw, column, 8, levels=0, values=99)[0]
    assert not decoded(raw, column, 8, levels=0, values=101)[0]
    assert not decoded(raw[:-1], column, 8, levels=0)[0]
    assert not decoded(np.append(raw, np.uint8(0)), column, 8, levels=0)[0]


def test_a_null_without_a_place_for_it_is_refused():
    raw, column = chunk_of(pa.array([1, None], pa.int64()))
    out, none = np.empty(16, np.uint8), np.empty(0, np.int64)
    chunk = PlainChunk(0, len(raw), 2, column.total_uncompressed_size, 8, 1, 0, 0, 0, 16)
    assert decode_plain(raw, [chunk], out, none, np.empty(0, np.uint8)) == 0


@pytest.mark.parametrize("codec", CODECS)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3))
def test_damage_never_leaves_the_chunks_places(codec, flips):
    for array, width in ((pa.array(["ab", None, "c" * 30] * 20), 0), (pa.array([1, None] * 30), 8)):
        raw, column = chunk_of(array, codec)
        for at, value in flips:
            raw[at % len(raw)] = value
        decoded(raw, column, width)  # the guards around each place are looked at there


@pytest.mark.parametrize(
    "change",
    [
        {"start": -1}, {"start": 1}, {"length": -1}, {"values": -1}, {"values": 1 << 62},
        {"uncompressed": 1 << 62}, {"uncompressed": 10}, {"width": 17}, {"levels": 4},
        {"out": -1}, {"out": 1}, {"room": 1 << 62}, {"room": 799}, {"valid": 1},
    ],
)  # fmt: skip
def test_places_are_checked(change):
    raw, column = chunk_of(pa.array(np.arange(100.0)), nullable=False)
    chunk = PlainChunk(0, len(raw), 100, column.total_uncompressed_size, 8, 0, 0, 0, 0, 800, 0, 0)
    places = np.empty(800, np.uint8), np.empty(0, np.int64), np.empty(100, np.uint8)
    assert decode_plain(raw, [chunk], *places) == 1
    assert decode_plain(raw, [chunk._replace(**change)], *places) == 0
