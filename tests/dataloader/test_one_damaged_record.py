"""One damaged record is one fault: its neighbours are delivered, whatever the memory and order."""

from __future__ import annotations

import struct

import pytest

import forebay as fb


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one") / "d"
    rows = ({"n": i, "blob": bytes([i % 256]) * 700} for i in range(1000))
    fields = {"n": "int64", "blob": "bytes"}
    options = {"format": "recordio", "codec": "none", "block_bytes": 70_000}
    fb.write_dataset(folder, rows, fields, **options)
    shard = folder / "shard-00000.rec"
    data = bytearray(shard.read_bytes())
    # Record 50's blob is 700 bytes of 50; its number stands before it.
    at = data.index(struct.pack("<q", 50) + struct.pack("<I", 700)) + 100
    data[at] ^= 1
    shard.write_bytes(data)
    return folder


@pytest.mark.parametrize("memory", ["1GB", "400kB"])
@pytest.mark.parametrize("shuffle", [False, "blocks", "window", "full"])
@pytest.mark.parametrize("threads", [0, 2])
def test_only_the_damaged_record_is_blamed(damaged, shuffle, memory, threads):
    dataset = fb.open_dataset(damaged)
    loader = fb.DataLoader(
        dataset, 8, shuffle, num_workers=threads, memory=memory, window_bytes="100kB", prefetch=2
    )
    delivered = []
    batches = iter(loader)
    with pytest.raises(fb.errors.SampleError) as caught:  # noqa: PT012 - the batch may be any
        while True:
            delivered += next(batches)["n"].tolist()
    assert (caught.value.record, caught.value.others) == (50, 0)
    assert caught.value.shard == "shard-00000.rec"
    assert caught.value.stage == "fetch"
    assert isinstance(caught.value.__cause__, fb.errors.ChecksumMismatch)
    assert caught.value.position // 8 * 8 == len(delivered)
    assert 50 not in delivered
    assert len(set(delivered)) == len(delivered)
