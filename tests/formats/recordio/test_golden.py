"""Version 1 stays readable for ever, and is still what is written."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from forebay.formats.column import row_at
from forebay.formats.recordio.reader import RecordIOReader
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.formats.storage.local import LocalSource

GOLDEN = Path(__file__).parents[2] / "golden"
MADE = runpy.run_path(str(GOLDEN / "make_recordio.py"))
ENTRIES = json.loads((GOLDEN / "recordio" / "entries.json").read_text())


def entry_of(name):
    row = dict(ENTRIES[name])
    for key in ("block_rows", "block_bytes", "block_memory"):
        row[key] = np.array(row[key], np.int64)
    row["chunk_crc32c"] = np.array(row["chunk_crc32c"], np.uint32)
    for key in ("index", "key_index"):
        row[key] = FileCheck(**row[key])
    return ShardEntry(**row)


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_every_case_has_its_files():
    assert set(ENTRIES) == set(MADE["CASES"])


@pytest.mark.parametrize("name", ENTRIES)
def test_golden_shards_read(name):
    case = MADE["CASES"][name]
    dictionary = (GOLDEN / "recordio" / "dictionary.zdict").read_bytes()
    reader = RecordIOReader(
        LocalSource(GOLDEN / "recordio"), case.schema, {"dictionary.zdict": dictionary}
    )
    entry = entry_of(name)
    assert entry.records == sum(map(len, case.blocks))
    for b, rows in enumerate(case.blocks):
        block = reader.read(entry, b, case.schema)
        got = [tuple(map(plain, row_at(case.schema, block, i))) for i in range(block.rows)]
        assert got == rows


@pytest.mark.parametrize("name", ENTRIES)
def test_writing_again_gives_the_same_bytes(tmp_path, name):
    again = MADE["write"](tmp_path, name)
    if '"zstd"' in MADE["CASES"][name].codec:
        # Another libzstd may choose other bytes for the same frame; what it wrote must still read.
        assert again["records"] == ENTRIES[name]["records"]
        return
    assert (again["sha256"], again["key_index"]) == (
        ENTRIES[name]["sha256"],
        ENTRIES[name]["key_index"],
    )
    for suffix in (".rec", ".idx"):
        old = (GOLDEN / "recordio" / (name + suffix)).read_bytes()
        assert (tmp_path / (name + suffix)).read_bytes() == old
    # Arrow may lay out its own headers anew from version to version; the rows must be the same.
    tables = [
        pa.ipc.open_file(pa.memory_map(str(folder / f"{name}.index.arrow"))).read_all()
        for folder in (GOLDEN / "recordio", tmp_path)
    ]
    assert tables[0].equals(tables[1], check_metadata=True)
