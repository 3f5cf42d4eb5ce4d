"""The writer's file: gone after abort, an error where it cannot be."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from forebay.formats.codecs.none import NoCodec
from forebay.formats.column import Block, FixedColumn
from forebay.formats.errors import StorageError
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import Schema

SCHEMA = Schema.parse({"a": "int64"})
FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from forebay.formats.codecs.none import NoCodec
from forebay.formats.column import Block, FixedColumn
from forebay.formats.errors import StorageError
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import Schema

writer = ParquetWriter(Path(sys.argv[1]), "s", Schema.parse({"a": "int64"}), NoCodec())
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    for _ in range(10):
        writer.write(Block(9999, {"a": FixedColumn(np.arange(9999))}, 0))
    writer.close()
except StorageError as e:
    print(e)
writer.abort()
print(list(Path(sys.argv[1]).iterdir()))
"""


def test_abort_removes_the_file(tmp_path):
    writer = ParquetWriter(tmp_path, "s", SCHEMA, NoCodec())
    writer.write(Block(3, {"a": FixedColumn(np.arange(3))}, 24))
    assert (tmp_path / "s.parquet").exists()
    writer.abort()
    assert not list(tmp_path.iterdir())


def test_no_such_folder(tmp_path):
    with pytest.raises(StorageError, match=r"cannot write .*s\.parquet: No such file"):
        ParquetWriter(tmp_path / "none", "s", SCHEMA, NoCodec())


def test_a_disk_that_is_full(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "s.parquet: File too large" in done.stdout
    assert done.stdout.endswith("[]\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_blocks_and_empty_blocks(tmp_path):
    writer = ParquetWriter(tmp_path, "s", SCHEMA, NoCodec())
    writer.write(Block(0, {"a": FixedColumn(np.arange(0))}, 0))
    entry = writer.close()
    assert entry.records == len(entry.block_rows) == len(entry.chunk_crc32c) == 0
    assert entry.bytes == (tmp_path / entry.file).stat().st_size
