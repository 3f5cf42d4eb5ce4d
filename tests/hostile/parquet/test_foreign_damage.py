"""Broken files of others, each read in a process of its own: an error, never a crash or a hang."""

from __future__ import annotations

import base64
import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from forebay.formats.errors import EncryptedShard
from forebay.formats.parquet.describe import describe
from forebay.formats.storage.memory import MemorySource

READ = """
import sys
from forebay.formats.errors import ShardError
from forebay.formats.parquet.describe import describe
from forebay.formats.parquet.reader import ParquetReader
from forebay.formats.storage.memory import MemorySource

def read(data):
    source = MemorySource({"file": data})
    schema, entry = describe(source, "file")
    reader = ParquetReader(source, schema)
    for i in range(len(entry.block_rows)):
        reader.read(entry, i, schema)
"""
ONE = (
    READ
    + """
try:
    read(open(sys.argv[1], "rb").read())
except ShardError as e:
    print(type(e).__name__, e)
"""
)
FLIPS = (
    READ
    + """
data = open(sys.argv[1], "rb").read()
read(data)
refused = 0
for at in range(0, len(data), int(sys.argv[2])):
    for bit in (1, 128):
        bad = bytearray(data)
        bad[at] ^= bit
        try:
            read(bytes(bad))
        except ShardError:
            refused += 1
print(refused)
"""
)


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "file", ["ARROW-GH-41317.parquet", "ARROW-RS-GH-6229-LEVELS.parquet", "PARQUET-1481.parquet"]
)
def test_malformed_files(shared_data, file):
    assert "MalformedShard shard file" in run(ONE, shared_data / "parquet" / "bad" / file)


def test_lists_of_fixed_size_zero(tmp_path):
    # Read as they are, they end the process.
    element = pa.field("element", pa.int8(), nullable=False)
    empty = pa.table({"a": pa.array([], pa.list_(element, 0))})
    pq.write_table(empty, tmp_path / "zero.parquet")
    assert "lists of fixed size 0" in run(ONE, tmp_path / "zero.parquet")


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"compression": "none"},
        {"compression": "zstd", "use_dictionary": False, "data_page_version": "2.0"},
    ],
)
def test_flips_in_a_file_without_checksums(tmp_path, options):
    struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table(
        {
            "i": [1, None, 3] * 5,
            "t": ["a", "é", None] * 5,
            "l": [[1, 2], None, []] * 5,
            "f": pa.array([[1, 2], None, [3, 4]] * 5, pa.list_(pa.float32(), 2)),
            "im": pa.array([{"bytes": b"x", "path": "p"}, None, {"bytes": b""}] * 5, struct),
            "n": [[["x"]], [[None]], None] * 5,
            "d": pa.array(["u", "v", "u"] * 5).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "file.parquet", **options)
    assert int(run(FLIPS, tmp_path / "file.parquet", 5)) > 300


class Keys(pe.KmsClient):
    """Keys in the clear, as pyarrow's own interface asks for."""

    def wrap_key(self, key, name):
        return base64.b64encode(name.encode() + key)

    def unwrap_key(self, wrapped, name):
        return base64.b64decode(wrapped)[len(name) :]


@pytest.mark.parametrize("plaintext", [True, False])
def test_encrypted_columns(plaintext):
    # pyarrow's accessors end the process on the first of the two.
    configuration = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"k": ["a"]}, plaintext_footer=plaintext
    )
    properties = pe.CryptoFactory(lambda _: Keys()).file_encryption_properties(
        pe.KmsConnectionConfig(), configuration
    )
    sink = io.BytesIO()
    table = pa.table({"a": np.arange(3), "b": np.arange(3)})
    with pq.ParquetWriter(sink, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(EncryptedShard, match="forebay takes no keys"):
        describe(MemorySource({"a": sink.getvalue()}), "a")
