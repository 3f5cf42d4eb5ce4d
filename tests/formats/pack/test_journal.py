from __future__ import annotations

import numpy as np
import pytest

from forebay.formats.errors import UnfinishedDataset
from forebay.formats.pack.journal import DoneShard, note, noted
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.formats.shard_table import ShardTable
from forebay.formats.sources.source import Rejected


def _entry(**more):
    return ShardEntry(
        file="shard-00007.rec",
        format="recordio",
        codec='{"id":"none"}',
        records=3,
        bytes=2**40,
        sha256="ab" * 32,
        block_rows=np.array([1, 2], np.int64),
        block_bytes=np.array([10, 2**40], np.int64),
        block_memory=np.array([20, 30], np.int64),
        chunk_crc32c=np.array([0, 2**32 - 1], np.uint32),
        **more,
    )


@pytest.mark.parametrize(
    "more",
    [{}, {"index": FileCheck("i", 5, 6), "key_index": FileCheck("k", 7, 2**32 - 1)}],
)
def test_round_trip(tmp_path, more):
    done = DoneShard(7, "run-0001", _entry(**more), (Rejected("a\udcff.jpg", "ünfit"),), {"b": 1})
    note(tmp_path, done)
    back = noted(tmp_path)[7]
    assert (back.number, back.folder, back.rejected) == (7, "run-0001", done.rejected)
    assert back.images == {"b": 1}
    assert ShardTable.of([back.entry]).to_bytes() == ShardTable.of([done.entry]).to_bytes()


def test_damaged(tmp_path):
    note(tmp_path, DoneShard(0, "run-0001", _entry(), ()))
    path = next(tmp_path.glob("done-*"))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UnfinishedDataset, match=r"done-000000\.json is damaged.*--restart"):
        noted(tmp_path)
