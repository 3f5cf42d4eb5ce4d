"""What is written is what is read, whatever the schema, the values and the codec."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forebay.formats.codecs.none import NoCodec
from forebay.formats.codecs.zstd import ZstdCodec, train_dictionary
from forebay.formats.column import VarColumn, row_at
from forebay.formats.record import DTYPES, Schema
from forebay.formats.shard import ReadTally

MAGIC = b"\x0a\x23\xd7\xce"
DICTIONARY = train_dictionary(
    [f"record {i} of a small text set, {i * 7919}".encode() * 9 for i in range(900)]
)
assert DICTIONARY
CODECS = {
    "none": NoCodec(),
    "zstd": ZstdCodec(3),
    "dictionary": ZstdCodec(3, DICTIONARY, "d.zdict"),
}
DICTIONARIES = {"d.zdict": DICTIONARY}

pieces = st.lists(st.sampled_from([MAGIC, b"\0", b"ab", b"abcd", b""]), max_size=8).map(b"".join)
blobs = st.one_of(st.binary(max_size=40), pieces)
specs = st.one_of(
    st.sampled_from(["jpeg", "image", "bytes", "text"]),
    st.builds(
        lambda d, s: d + s,
        st.sampled_from(DTYPES),
        st.sampled_from(["", "[3]", "[2,2]", "[0]", "[*]"]),
    ),
)
schemas = st.dictionaries(
    st.text(min_size=1, max_size=6).filter(lambda t: "." not in t and "\0" not in t and _utf8(t)),
    st.builds(lambda s, n: s + n, specs, st.sampled_from(["", "?"])),
    min_size=1,
    max_size=10,
).map(Schema.parse)


def _utf8(text):
    return not any(0xD800 <= ord(c) < 0xE000 for c in text)


def values(field, label):
    if field.kind == "fixed":
        if label and field.dtype[:3] in ("int", "uin"):
            info = np.iinfo(field.dtype)
            drawn = st.integers(max(info.min, -(1 << 24)), min(info.max, 1 << 24))
        elif label:
            drawn = hnp.from_dtype(field.element, allow_nan=False)
        else:
            drawn = hnp.arrays(field.element, field.shape)
    elif field.kind == "ragged":
        drawn = hnp.arrays(field.element, st.integers(0, 9))
    elif field.kind == "text":
        drawn = st.text(max_size=12)
    else:
        drawn = blobs
    return st.none() | drawn if field.nullable else drawn


@st.composite
def datasets(draw):
    schema = draw(st.one_of(schemas, st.sampled_from(DTYPES).map(_labelled)))
    label = set(schema.names) == {"picture", "label"}
    row = st.tuples(*(values(f, label) for f in schema))
    return schema, draw(st.lists(st.lists(row, max_size=6), max_size=3))


def _labelled(dtype):
    return Schema.parse({"label": dtype, "picture": "jpeg"})


def raw(field, value):
    """A value as bytes, so that NaNs compare by their bits."""
    if value is None:
        return None
    if field.kind in ("fixed", "ragged"):
        return np.asarray(value, field.element).tobytes()
    return value.encode() if isinstance(value, str) else bytes(value)


def check_block(schema, block, rows):
    assert block.rows == len(rows)
    for i, row in enumerate(rows):
        got = row_at(schema, block, i)
        for f, a, b in zip(schema, got, row, strict=True):
            assert raw(f, a) == raw(f, b), (f, i)


@pytest.mark.parametrize("codec", CODECS)
@given(data=datasets())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_dataset_round_trips(codec, data, write_shard, reader_of):
    schema, blocks = data
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entry = write_shard(folder, schema, blocks, CODECS[codec])
        reader = reader_of(folder, schema, DICTIONARIES)
        full = [rows for rows in blocks if rows]
        assert entry.records == sum(map(len, blocks))
        assert entry.block_rows.tolist() == [len(rows) for rows in full]
        assert entry.bytes == (folder / "s.rec").stat().st_size == entry.block_bytes.sum()
        for b, rows in enumerate(full):
            block = reader.read(entry, b, schema)
            check_block(schema, block, rows)
            assert block.unchecked == 0
            assert block.nbytes <= reader.cost(entry, b, schema)[1]
            # Any rows, in any order, twice, and none of them.
            picked = [len(rows) - 1, 0, len(rows) - 1]
            some = reader.read(entry, b, schema, rows=np.array(picked))
            check_block(schema, some, [rows[i] for i in picked])
            assert some.nbytes <= reader.cost(entry, b, schema, np.array(picked))[1]
            assert reader.read(entry, b, schema, rows=np.empty(0, np.int64)).rows == 0


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_block_of_views_counts_their_buffer_once(tmp_path, write_shard, reader_of, codec):
    schema = Schema.parse({"ids": "int32[1024]"})
    rows = [(np.random.default_rng(i).integers(0, 99, 1024, np.int32),) for i in range(100)]
    entry = write_shard(tmp_path, schema, [rows], CODECS[codec])
    block = reader_of(tmp_path, schema, DICTIONARIES).read(entry, 0, schema)
    check_block(schema, block, rows)
    assert 100 * 4096 <= block.nbytes < 1.1 * 100 * 4096


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("profile", ["bytes", "image"])
def test_the_magic_at_every_alignment(tmp_path, write_shard, reader_of, codec, profile):
    spec = {"image": {"image": "jpeg", "label": "int64"}, "bytes": {"data": "bytes"}}[profile]
    schema = Schema.parse(spec)
    bodies = [
        b"x" * before + MAGIC * times + b"y" * after
        for before in range(9)
        for times in (1, 2, 3)
        for after in range(6)
    ]
    rows = [(b, i) if profile == "image" else (b,) for i, b in enumerate(bodies)]
    entry = write_shard(tmp_path, schema, [rows, rows[::-1]], CODECS[codec])
    reader = reader_of(tmp_path, schema, DICTIONARIES)
    check_block(schema, reader.read(entry, 0, schema), rows)
    check_block(schema, reader.read(entry, 1, schema), rows[::-1])
    # Twice the same multi-part record: it must be joined once only.
    check_block(
        schema, reader.read(entry, 0, schema, rows=np.array([5, 5, 3])), [rows[5]] * 2 + [rows[3]]
    )


def test_columns_asked_for_come_alone_and_view_one_buffer(tmp_path, write_shard, reader_of):
    schema = Schema.parse({"a": "text", "n": "int32", "b": "bytes"})
    entry = write_shard(tmp_path, schema, [[("ä", 1, b"xyz"), ("", 2, b"")]])
    block = reader_of(tmp_path, schema).read(entry, 0, schema.select(["b", "a"]))
    assert list(block.columns) == ["b", "a"]
    a, b = block.columns["a"], block.columns["b"]
    assert isinstance(a, VarColumn)
    assert isinstance(b, VarColumn)
    assert a.values is b.values
    assert a.values.ctypes.data % 64 == 0


def test_one_block_is_one_read_and_neighbours_share_one(tmp_path, write_shard, reader_of):
    schema = Schema.parse({"a": "bytes"})
    entry = write_shard(tmp_path, schema, [[(bytes(3000),) for _ in range(40)]])
    reader = reader_of(tmp_path, schema)
    tally = ReadTally()
    reader.read(entry, 0, schema, tally=tally)
    assert tally.requests == 2  # the index, then the block
    assert tally.bytes == entry.bytes + entry.index.bytes
    tally = ReadTally()
    rows = np.array([30, 2, 0])
    reader.read(entry, 0, schema, rows=rows, tally=tally)
    assert tally.requests == 1
    framed = 8 + 3004  # a u32 length, 3000 bytes
    assert tally.bytes == 4 * framed <= reader.cost(entry, 0, schema, rows)[0]


def test_a_reader_survives_pickling(tmp_path, write_shard, reader_of):
    schema = Schema.parse({"a": "text"})
    entry = write_shard(tmp_path, schema, [[("one",)]], CODECS["dictionary"])
    reader = reader_of(tmp_path, schema, DICTIONARIES)
    reader.read(entry, 0, schema)
    again = pickle.loads(pickle.dumps(reader))
    check_block(schema, again.read(entry, 0, schema), [("one",)])


def test_the_same_blocks_give_the_same_bytes(tmp_path, write_shard):
    schema = Schema.parse({"image": "jpeg", "x": "float32[3]?"})
    rows = [(b"abc" + MAGIC, [1, 2, 3]), (b"", None)]
    first = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_shard(tmp_path / name, schema, [rows], CODECS["zstd"])
        first[name] = {p.name: p.read_bytes() for p in (tmp_path / name).iterdir()}
    assert first["one"] == first["two"]
    assert set(first["one"]) == {"s.rec", "s.idx", "s.index.arrow"}
