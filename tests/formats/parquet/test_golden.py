"""Shards of version 1 of the profile are read for ever."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from forebay.formats.column import row_at
from forebay.formats.parquet.describe import describe
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.shard import ShardEntry
from forebay.formats.storage.local import LocalSource

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_parquet", GOLDEN / "make_parquet.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def golden_entry(stem):
    said = json.loads((GOLDEN / "parquet" / f"{stem}.json").read_text())
    arrays = {n: np.array(said[n], np.int64) for n in ("block_rows", "block_bytes", "block_memory")}
    entry = ShardEntry(
        file=f"{stem}.parquet",
        format="parquet",
        codec=said["codec"],
        records=sum(said["block_rows"]),
        bytes=said["bytes"],
        sha256=said["sha256"],
        footer_bytes=said["footer_bytes"],
        footer_crc32c=said["footer_crc32c"],
        chunk_crc32c=np.array(said["chunk_crc32c"], np.uint32),
        **arrays,
    )
    return entry, said["pyarrow"]


@pytest.mark.parametrize("stem", ["v1-none", "v1-zstd"])
def test_version_1_is_read(maker, stem):
    entry, _ = golden_entry(stem)
    source = LocalSource(GOLDEN / "parquet")
    schema, _ = describe(source, entry.file)
    assert schema == maker.schema()
    reader = ParquetReader(source, schema)
    first = 0
    for i, rows in enumerate(entry.block_rows.tolist()):
        block = reader.read(entry, i, schema)
        for j in range(rows):
            want = maker.record(first + j)
            want["image"] = want["image"][0]
            got = dict(zip(schema.names, row_at(schema, block, j), strict=True))
            assert all(np.array_equal(got[n], want[n]) for n in want), first + j
        first += rows
    assert first == 13


@pytest.mark.parametrize("stem", ["v1-none", "v1-zstd"])
def test_version_1_is_written_to_the_byte(maker, stem, tmp_path):
    entry, made_with = golden_entry(stem)
    if made_with.split(".")[0] != pa.__version__.split(".")[0]:
        pytest.skip(f"made with pyarrow {made_with}: its bytes may differ between major versions")
    made = maker.make(tmp_path, stem, maker.CODECS[stem])
    if made_with != pa.__version__:
        pytest.skip(f"made with pyarrow {made_with}, whose name is in each file")
    assert made.sha256 == entry.sha256
    assert made.chunk_crc32c.tolist() == entry.chunk_crc32c.tolist()
    assert made.footer_crc32c == entry.footer_crc32c
