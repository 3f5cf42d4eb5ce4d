"""What the writer refuses, and the three files that it leaves."""

from __future__ import annotations

import hashlib
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from forebay.formats.codecs.none import NoCodec
from forebay.formats.codecs.zstd import ZstdCodec
from forebay.formats.column import Block, FixedColumn, ObjectColumn, VarColumn
from forebay.formats.errors import LimitExceeded, SchemaError
from forebay.formats.record import Field, Schema
from forebay.formats.recordio.index import decode_index
from forebay.formats.recordio.writer import RecordIOWriter
from forebay.kernels.crc import crc32c

IMAGES = Schema.parse({"image": "jpeg", "label": "int64"})


def test_files_and_their_checks(tmp_path, write_shard):
    rows = [(b"abc", 7), (b"", -1), (b"\x0a\x23\xd7\xce", 2)]
    entry = write_shard(tmp_path, IMAGES, [rows[:1], [], rows[1:]])
    rec = (tmp_path / "s.rec").read_bytes()
    assert entry.format == "recordio"
    assert entry.sha256 == hashlib.sha256(rec).hexdigest()
    assert entry.block_rows.tolist() == [1, 2]
    for check, name in ((entry.index, "s.index.arrow"), (entry.key_index, "s.idx")):
        data = (tmp_path / name).read_bytes()
        assert (check.file, check.bytes, check.crc32c) == (name, len(data), crc32c(data))
    # 8 of header, 24 of image header, the bytes padded; the third is cut at the magic.
    assert (tmp_path / "s.idx").read_text() == "0\t0\n1\t36\n2\t68\n"
    assert len(rec) == 68 + 8 + 24 + 8


def test_image_records_are_irheaders(tmp_path, write_shard):
    schema = Schema.parse({"label": "uint8", "image": "png"})
    write_shard(tmp_path, schema, [[(3, b"one")], [(200, b"three")]])
    rec = (tmp_path / "s.rec").read_bytes()
    magic, size, flag, label, number, more = struct.unpack_from("<IIIfQQ", rec, 36)
    assert (magic, size, flag, label, number, more) == (0xCED7230A, 29, 0, 200.0, 1, 0)
    assert rec[36 + 32 :] == b"three\0\0\0"


def test_fields_lie_as_the_page_says(tmp_path, write_shard):
    schema = Schema.parse({"t": "text?", "n": "int16", "r": "uint16[*]", "x": "float32[2]?"})
    write_shard(tmp_path, schema, [[("é", -2, [1, 2], None), (None, 3, [], [0.5, 1.5])]])
    rec = (tmp_path / "s.rec").read_bytes()
    first = struct.pack("<BhffII", 0b10, -2, 0, 0, 2, 4) + "é".encode() + struct.pack("<HH", 1, 2)
    second = struct.pack("<BhffII", 0b01, 3, 0.5, 1.5, 0, 0)
    assert rec[8 : 8 + len(first)] == first
    at = 8 + len(first) + -len(first) % 4
    assert rec[at + 8 : at + 8 + len(second)] == second


@pytest.mark.parametrize("label", ["float64", "int64[1]", "bool", "int64?"])
def test_other_labels_take_the_fields_layout(tmp_path, write_shard, reader_of, label):
    schema = Schema.parse({"image": "jpeg", "label": label})
    value = {"float64": 0.1, "int64[1]": [1 << 60], "bool": True, "int64?": 1 << 60}[label]
    entry = write_shard(tmp_path, schema, [[(b"", value)]])
    column = reader_of(tmp_path, schema).read(entry, 0, schema).columns["label"]
    assert column.values.tolist() == [value]


@pytest.mark.parametrize("label", [(1 << 24) + 1, -(1 << 24) - 1, 1 << 40, -(1 << 63)])
def test_a_label_that_float32_cannot_hold(tmp_path, write_shard, label):
    with pytest.raises(SchemaError, match=rf"{label} in record 2 .*'int64\[1\]'"):
        write_shard(tmp_path, IMAGES, [[(b"", 1 << 24), (b"", -(1 << 24)), (b"", label)]])


def test_large_unsigned_labels(tmp_path, write_shard):
    schema = Schema.parse({"image": "jpeg", "label": "uint64"})
    with pytest.raises(SchemaError, match="18446744073709551615"):
        write_shard(tmp_path, schema, [[(b"", (1 << 64) - 1)]])


@pytest.mark.parametrize("codec", [NoCodec(), ZstdCodec(1)])
@pytest.mark.parametrize("spec", [{"a": "bytes"}, {"a": "image", "n": "int8"}])
def test_the_limit_is_an_error_before_anything_is_allocated(tmp_path, codec, spec):
    # One byte seen 2^32 times: nothing of that size exists.
    huge = np.broadcast_to(np.zeros(1, np.uint8), (1 << 32,))
    schema = Schema.parse(spec)
    writer = RecordIOWriter(tmp_path, "s", schema, codec)
    fixed = 24 if "n" in spec else 4
    for size in ((1 << 29) - fixed, (1 << 32)):
        column = VarColumn(huge, np.zeros(2, np.int64), np.array([1, size]))
        label = FixedColumn(np.zeros(2, np.int8))
        with pytest.raises(LimitExceeded, match=rf"{size + fixed} bytes.*536870911") as caught:
            writer.write(Block(2, {"a": column, "n": label}, 0))
        assert caught.value.record == 1
        assert isinstance(caught.value, ValueError)
    entry = writer.close()
    assert entry.records == entry.bytes == 0


def test_zero_records(tmp_path, write_shard, reader_of):
    entry = write_shard(tmp_path, IMAGES, [])
    assert (entry.records, entry.bytes, len(entry.block_rows)) == (0, 0, 0)
    data = np.fromfile(tmp_path / "s.index.arrow", np.uint8)
    assert len(decode_index(data, "s.rec", 0, IMAGES)) == 0
    with pytest.raises(IndexError, match=r"block 0 .* has 0"):
        reader_of(tmp_path, IMAGES).read(entry, 0, IMAGES)


BAD = {
    "missing": {"t": VarColumn(np.empty(0, np.uint8), np.zeros(2, int), np.zeros(2, int))},
    "rows": {"n": FixedColumn(np.zeros(3, np.int32))},
    "shape": {"n": FixedColumn(np.zeros((2, 1), np.int32))},
    "dtype": {"n": FixedColumn(np.zeros(2, np.int64))},
    "null": {"n": FixedColumn(np.zeros(2, np.int32), np.array([True, False]))},
    "kind": {"n": ObjectColumn([1, 2])},
    "outside": {"t": VarColumn(np.zeros(3, np.uint8), np.array([0, 1]), np.array([3, 3]))},
    "negative": {"t": VarColumn(np.zeros(3, np.uint8), np.array([0, -1]), np.array([1, 1]))},
    "fixed": {"t": FixedColumn(np.zeros(2, np.uint8))},
}


@pytest.mark.parametrize("case", BAD)
def test_columns_that_do_not_fit_their_field(tmp_path, case):
    good = {
        "n": FixedColumn(np.zeros(2, np.int32)),
        "t": VarColumn(np.zeros(3, np.uint8), np.array([0, 1]), np.array([1, 2])),
    }
    columns = BAD[case] if case == "missing" else good | BAD[case]
    writer = RecordIOWriter(tmp_path, "s", Schema.parse({"n": "int32", "t": "text"}), NoCodec())
    with pytest.raises(SchemaError, match=r"field '[nt]'"):
        writer.write(Block(2, columns, 0))
    writer.write(Block(2, good, 0))
    assert writer.close().records == 2


def test_foreign_kinds_are_refused_at_the_door(tmp_path):
    with pytest.raises(SchemaError, match="'odd'"):
        RecordIOWriter(tmp_path, "s", Schema((Field("odd", "other"),)), NoCodec())
    assert not list(tmp_path.iterdir())


def test_abort_leaves_nothing(tmp_path, block_of):
    writer = RecordIOWriter(tmp_path, "s", IMAGES, NoCodec())
    writer.write(block_of(IMAGES, [(b"a", 1)]))
    writer.abort()
    writer.abort()
    assert not list(tmp_path.iterdir())


def test_image_sizes_reach_the_index(tmp_path, write_shard):
    known = {b"big": SimpleNamespace(height=70000, width=3, orientation=6)}
    write_shard(
        tmp_path,
        IMAGES,
        [[(b"big", 1)], [(b"other", 2)]],
        probe=lambda data: known.get(bytes(data)),
    )
    data = np.fromfile(tmp_path / "s.index.arrow", np.uint8)
    sizes = decode_index(data, "s.rec", (tmp_path / "s.rec").stat().st_size, IMAGES).images["image"]
    assert sizes.height.tolist() == [70000, 0]
    assert sizes.width.tolist() == [3, 0]
    assert sizes.orientation.tolist() == [6, 0]


def test_what_lies_under_a_null_is_not_written(tmp_path):
    schema = Schema.parse({"n": "int32?", "t": "text?"})
    files = []
    for junk in (0, 7):
        valid = np.array([True, False])
        n = FixedColumn(np.array([1, junk], np.int32), valid)
        t = VarColumn(
            np.full(3, 65 + junk, np.uint8), np.array([0, 0]), np.array([0, junk // 3]), valid
        )
        writer = RecordIOWriter(tmp_path, "s", schema, NoCodec())
        writer.write(Block(2, {"n": n, "t": t}, 0))
        writer.close()
        files.append((tmp_path / "s.rec").read_bytes())
    assert files[0] == files[1]
