"""Records of others: files without an index of ours."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from forebay.formats.column import row_at
from forebay.formats.errors import MalformedShard, TruncatedShard
from forebay.formats.record import Schema
from forebay.formats.recordio.reader import RecordIOReader
from forebay.formats.recordio.scan import scan_shard
from forebay.formats.storage.local import LocalSource
from forebay.formats.storage.memory import MemorySource

MAGIC = struct.pack("<I", 0xCED7230A)
JPEG = b"\xff\xd8\xff\xe0 not a whole one"


def part(data, cflag=0):
    return MAGIC + struct.pack("<I", cflag << 29 | len(data)) + data + bytes(-len(data) % 4)


def image(labels, body, number=0):
    if isinstance(labels, float):
        return struct.pack("<IfQQ", 0, labels, number, 0) + body
    more = struct.pack(f"<{len(labels)}f", *labels)
    return struct.pack("<IfQQ", len(labels), 0.0, number, 0) + more + body


def opened(files, **options):
    source = MemorySource(files)
    found = scan_shard(source, "a.rec", **options)
    reader = RecordIOReader(source, found.schema, {}, {"a.rec": found.index})
    rows = []
    for b in range(len(found.entry.block_rows)):
        block = reader.read(found.entry, b, found.schema)
        assert block.unchecked == block.rows > 0
        assert block.nbytes <= found.entry.block_memory[b]
        rows += [row_at(found.schema, block, i) for i in range(block.rows)]
    return found, rows


def test_the_sample_of_dmlc(shared_data):
    data = (shared_data / "recordio" / "sample.rec").read_bytes()
    expected, at = [], 0
    while at < len(data):
        _, size, flag, label = struct.unpack_from("<IIIf", data, at)
        assert size < 1 << 29
        assert flag == 0
        expected.append((data[at + 32 : at + 8 + size], label))
        at += 8 + (size + 3) // 4 * 4
    source = LocalSource(shared_data / "recordio")
    found = scan_shard(source, "sample.rec")
    reader = RecordIOReader(source, found.schema, {}, {"sample.rec": found.index})
    block = reader.read(found.entry, 0, found.schema)
    rows = [row_at(found.schema, block, i) for i in range(block.rows)]
    assert len(rows) == 10
    assert rows == expected
    assert {label for _, label in rows} == {0.0, 1.0}
    assert block.unchecked == 10
    assert found.entry.foreign


@pytest.mark.parametrize(
    ("labels", "spec"),
    [
        ([1.0, 2.5, 3.0], "float32"),
        ([[1.0, 2.0], [3.0, 4.0]], "float32[2]"),
        ([[1.0], [3.0, 4.0], 7.0], "float32[*]"),
    ],
)
@pytest.mark.parametrize("body", [JPEG, b"something else"])
def test_image_headers_are_recognised(labels, spec, body):
    rec = b"".join(part(image(x, body + bytes([i]), i)) for i, x in enumerate(labels))
    found, rows = opened({"a.rec": rec})
    name = "image" if body is JPEG else "data"
    kind = "image" if body is JPEG else "bytes"
    assert {f.name: f.spec for f in found.schema} == {name: kind, "label": spec}
    assert [r[0] for r in rows] == [body + bytes([i]) for i in range(len(labels))]
    assert [np.ravel(r[1]).tolist() for r in rows] == [np.ravel(x).tolist() for x in labels]


@pytest.mark.parametrize(
    "payloads",
    [
        [b"short", JPEG * 9],
        [b"", b""],
        [struct.pack("<IfQQ", 0, 1.0, 0, 5) + JPEG],
        [struct.pack("<IfQQ", 9, 1.0, 0, 0) + JPEG],
        [struct.pack("<IfQQ", 1 << 31, 1.0, 0, 0) + JPEG],
        [struct.pack("<IfQQ", 0, float("nan"), 0, 0) + JPEG],
    ],
)
def test_other_records_are_bytes(payloads):
    found, rows = opened({"a.rec": b"".join(map(part, payloads))})
    assert found.schema == Schema.parse({"record": "bytes"})
    assert rows == [(p,) for p in payloads]


def test_an_empty_file_has_no_records():
    found, rows = opened({"a.rec": b"", "a.idx": b""})
    assert (found.entry.records, len(found.entry.block_rows), rows) == (0, 0, [])


def test_parts_are_joined_and_the_header_may_span_them():
    whole = struct.pack("<IfQ", 0, 2.0, 0xCED7230A) + struct.pack("<Q", 0) + JPEG
    # The id's low word is the magic itself, so the header is cut in two.
    rec = part(whole[:8], 1) + part(whole[12:], 3)
    _, rows = opened({"a.rec": rec + part(image(4.0, JPEG))})
    assert rows == [(JPEG, 2.0), (JPEG, 4.0)]


def test_large_records_are_hopped_over():
    class Counting(MemorySource):
        read = 0

        def read_into(self, key, offsets, outs):
            self.read += sum(o.nbytes for o in outs)
            super().read_into(key, offsets, outs)

    rec = b"".join(part(image(float(i), JPEG + bytes(1 << 20), i)) for i in range(8))
    source = Counting({"a.rec": rec})
    assert scan_shard(source, "a.rec").entry.records == 8
    assert source.read < len(rec) / 4


def test_blocks_cover_the_file():
    rec = b"".join(part(bytes(100)) for _ in range(50))
    found, rows = opened({"a.rec": rec}, block_bytes=1000)
    assert len(rows) == 50
    assert found.entry.block_bytes.sum() == len(rec)
    assert found.entry.block_rows.max() <= 10


def test_idx_beside_it(tmp_path):
    rec = part(b"abc") + part(b"defgh")
    assert opened({"a.rec": rec, "a.idx": b"7\t12\nx\t0\n"})[1] == [(b"abc",), (b"defgh",)]
    for idx in (b"0\t0\n", b"0\t0\n1\t8\n", b"0\t0\n1\t12\n2\t12\n", b"", b"0" * 500):
        with pytest.raises(MalformedShard, match=r"\.idx"):
            opened({"a.rec": rec, "a.idx": idx})


def test_every_truncation_is_noticed_or_ends_between_records():
    rec = part(b"abc") + part(b"abcd", 1) + part(b"efgh", 2) + part(b"ij", 3) + part(b"")
    ends = {0, 12, 12 + 12 + 12 + 12, len(rec)}
    for n in range(len(rec)):
        if n in ends:
            assert len(opened({"a.rec": rec[:n]})[1]) == sorted(ends).index(n)
            continue
        with pytest.raises(TruncatedShard, match=rf"have {n} of \d+ bytes"):
            opened({"a.rec": rec[:n]})


@pytest.mark.parametrize(
    "bad",
    [
        part(b"abcd", 2) + part(b"", 3),
        part(b"abcd", 3),
        part(b"abcd", 5),
        part(b"abcd", 1) + part(b"abcd"),
        part(b"abcd", 1) + part(b"abcd", 1) + part(b"", 3),
        part(b"abc", 1) + part(b"", 3),
        b"\0" * 12,
    ],
)
def test_forbidden_frames_name_their_record(bad):
    with pytest.raises(MalformedShard) as caught:
        opened({"a.rec": part(b"fine") + bad})
    assert caught.value.record == 1
    assert caught.value.offset >= 12


def test_a_hostile_length_allocates_nothing():
    rec = MAGIC + struct.pack("<I", (1 << 29) - 1)
    with pytest.raises(TruncatedShard, match="have 8 of 536870920 bytes"):
        opened({"a.rec": rec})


def test_a_file_that_changed_since_the_scan_is_refused():
    rec = part(image(1.0, JPEG)) + part(image(2.0, JPEG))
    found, _ = opened({"a.rec": rec})
    changed = bytearray(rec)
    changed[len(rec) // 2 + 8] = 1  # a flag, so that a further label is promised
    source = MemorySource({"a.rec": bytes(changed)})
    reader = RecordIOReader(source, found.schema, {}, {"a.rec": found.index})
    block = reader.read(found.entry, 0, found.schema)
    assert list(block.damaged) == [1]
    error = block.damaged[1]
    assert isinstance(error, MalformedShard)
    assert "1 further labels" in str(error)
    assert (error.record, error.offset, block.unchecked) == (1, len(rec) // 2, 1)
    assert row_at(found.schema, block, 0)[0] == JPEG
