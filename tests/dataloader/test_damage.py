"""Damage that appears after a dataset was opened: named, never delivered, never a hang."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import forebay as fb
from forebay.errors import (
    ChecksumMismatch,
    DatasetNotFound,
    DecodeError,
    LoaderClosed,
    SampleError,
    ShardError,
    StageFailed,
    TruncatedShard,
)

T = fb.transforms
pytestmark = pytest.mark.timeout(60)

# So many that the door, which looks at a few blocks from all over, does not look at shard 1.
N = 480
FIELDS = {"label": "int64", "blob": "bytes"}
MAKINGS = [(f, c) for f in ("parquet", "recordio") for c in ("zstd", "none")]


@pytest.fixture(params=MAKINGS, ids="-".join)
def dataset(request, kit, tmp_path):
    """480 records of incompressible bytes in several shards of several blocks, freshly opened."""
    format, codec = request.param
    rows = [{"label": i, "blob": np.random.default_rng(i).bytes(200)} for i in range(N)]
    fb.write_dataset(
        tmp_path / "d", rows, FIELDS, format=format, codec=codec,
        block_bytes=1_500, shard_bytes=6_000,
    )  # fmt: skip
    opened = fb.open_dataset(tmp_path / "d")
    assert len(opened.table) >= 15
    return opened


@pytest.fixture(params=[0, 2], ids=["alone", "threads"])
def threads(request):
    return request.param


def loader(dataset, threads, **options):
    options = {"batch_size": 8, "memory": "64MB", "num_workers": threads, **options}
    return fb.DataLoader(dataset, **options)


def path_of(dataset, shard):
    return os.path.join(dataset.name, dataset.table.entry(shard).file)


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def first_record(dataset, shard):
    """Number in the dataset of a shard's first record."""
    return sum(dataset.table.entry(s).records for s in range(shard))


def read(iterator):
    """The labels of the batches that come before the error, and the error."""
    got = []
    try:
        for batch in iterator:
            got += batch["label"].tolist()
    except (SampleError, StageFailed) as e:
        return got, e
    raise AssertionError("no error came")


def closed(loader_, iterator, error):
    """Whether nothing is left of a run that ended in an error."""
    with pytest.raises(LoaderClosed, match="start a new one") as again:
        next(iterator)
    assert again.value.__cause__ is error
    assert not [t for t in threading.enumerate() if t.name.startswith("forebay-")]
    held = loader_.stats().budget_by_account
    return not any(v for k, v in held.items() if k not in ("indexes", "pool", "kept"))


@pytest.mark.parametrize("shuffle", [False, "window", "full"])
def test_a_flipped_byte_of_a_record_is_named(dataset, threads, shuffle):
    shard = 1
    entry = dataset.table.entry(shard)
    flip(path_of(dataset, shard), int(entry.block_bytes[0]) + 30)
    mine = loader(dataset, threads, shuffle=shuffle, seed=2)
    iterator = iter(mine)
    got, error = read(iterator)
    assert isinstance(error, SampleError)
    assert (error.shard, error.stage) == (entry.file, "fetch")
    first = first_record(dataset, shard)
    record = first + error.record
    assert first <= record < first + entry.records
    cause = error.__cause__
    assert isinstance(cause, ChecksumMismatch)
    assert (cause.shard, cause.block) == (entry.file, 1)
    if entry.format == "recordio":
        # Records are checked one by one: the others of the block are delivered.
        assert error.record == cause.record == int(entry.block_rows[0])
        assert error.others == 0
    assert entry.file in str(error)
    assert f"record {error.record}" in str(error)
    assert "forebay verify" in str(error)
    # What came before it is whole; the damaged record is the position it says.
    flat = [n for b in loader_of_copy(dataset, shard, shuffle) for n in b["label"].tolist()]
    assert got == flat[: len(got)]
    assert flat[error.position] == record
    assert len(got) == error.position // 8 * 8
    assert closed(mine, iterator, error)


def loader_of_copy(dataset, shard, shuffle):
    """The same loader over the dataset with the flip undone."""
    flip(path_of(dataset, shard), int(dataset.table.entry(shard).block_bytes[0]) + 30)
    return loader(fb.open_dataset(dataset.name), 0, shuffle=shuffle, seed=2)


def test_every_byte_of_a_block_that_is_read_is_checked(dataset):
    entry = dataset.table.entry(1)
    end = int(entry.block_bytes[0])
    start = 4 if entry.format == "parquet" else 0
    for offset in range(start, end, max(1, end // 40)):
        flip(path_of(dataset, 1), offset)
        got, error = read(iter(loader(dataset, 0)))
        assert isinstance(error.__cause__, ShardError), offset
        assert len(got) <= first_record(dataset, 1)
        flip(path_of(dataset, 1), offset)
    assert len(list(loader(dataset, 0))) == N // 8


def test_the_batches_before_the_damage_are_delivered(dataset, threads):
    entry = dataset.table.entry(2)
    flip(path_of(dataset, 2), int(entry.block_bytes[0]) // 2)
    mine = loader(dataset, threads, prefetch=9)
    iterator = iter(mine)
    got, error = read(iterator)
    assert got == list(range(first_record(dataset, 2) // 8 * 8))
    assert error.position == first_record(dataset, 2) + error.record
    assert closed(mine, iterator, error)


@pytest.mark.parametrize("made_before", [False, True])
def test_a_shard_that_was_cut_short(dataset, threads, made_before):
    entry = dataset.table.entry(1)
    mine = loader(dataset, threads) if made_before else None
    os.truncate(path_of(dataset, 1), entry.bytes // 2)
    mine = mine or loader(dataset, threads)
    iterator = iter(mine)
    got, error = read(iterator)
    assert isinstance(error, SampleError)
    assert error.shard == entry.file
    assert isinstance(error.__cause__, TruncatedShard)
    assert f"have {entry.bytes // 2} of" in str(error)
    assert got == list(range(len(got)))
    assert closed(mine, iterator, error)


@pytest.mark.parametrize("emptied", [False, True], ids=["deleted", "emptied"])
def test_a_shard_that_is_gone(dataset, threads, emptied):
    if emptied:
        os.truncate(path_of(dataset, 1), 0)
    else:
        os.remove(path_of(dataset, 1))
    mine = loader(dataset, threads, shuffle="window", prefetch=3)
    iterator = iter(mine)
    _, error = read(iterator)
    if emptied:
        assert isinstance(error.__cause__, TruncatedShard)
    else:
        assert isinstance(error, StageFailed)
        assert isinstance(error.__cause__, DatasetNotFound)
        assert dataset.table.entry(1).file in str(error)
    assert closed(mine, iterator, error)


def damage_what_describes(dataset, shard):
    """Flips a byte of the footer or the index of a shard."""
    entry = dataset.table.entry(shard)
    if entry.format == "parquet":
        flip(path_of(dataset, shard), entry.bytes - entry.footer_bytes // 2)
        return
    path = os.path.join(dataset.name, entry.index.file)
    flip(path, os.path.getsize(path) // 2)


@pytest.mark.parametrize("shuffle", [False, "window", "full"])
def test_a_damaged_footer_or_index(dataset, threads, shuffle):
    damage_what_describes(dataset, 1)
    mine = loader(dataset, threads, shuffle=shuffle)
    iterator = iter(mine)
    got, error = read(iterator)
    assert isinstance(error, SampleError)
    assert error.stage == "fetch"
    assert error.shard == dataset.table.entry(1).file
    assert isinstance(error.__cause__, ChecksumMismatch)
    assert len(got) == error.position // 8 * 8
    assert closed(mine, iterator, error)


def test_a_damaged_index_where_single_records_are_read(tmp_path):
    rows = [{"blob": np.random.default_rng(i).bytes(5000)} for i in range(200)]
    fb.write_dataset(
        tmp_path / "d",
        rows,
        {"blob": "bytes"},
        format="recordio",
        block_bytes=100_000,
        shard_bytes=250_000,
    )
    dataset = fb.open_dataset(tmp_path / "d")
    damage_what_describes(dataset, 1)
    mine = loader(dataset, 2, shuffle="full", memory="500kB")
    with pytest.raises(SampleError, match=r"CRC-32C of the index") as caught:
        list(mine)
    assert caught.value.shard == dataset.table.entry(1).file


def test_the_first_shard_s_footer_is_read_at_the_door(kit, tmp_path):
    path = kit.write(tmp_path / "d", 60, "parquet", "none", FIELDS)
    dataset = fb.open_dataset(path)
    damage_what_describes(dataset, 0)
    with pytest.raises(ChecksumMismatch, match="the footer's CRC-32C"):
        loader(dataset, 0)


@pytest.mark.parametrize("data", [b"", b"no image at all", "cut"], ids=["empty", "text", "cut"])
@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_an_image_that_does_not_decode(kit, tmp_path, threads, format, data):
    bad = kit.picture(21)[:120] if data == "cut" else data
    rows = [{"image": bad if i == 21 else kit.picture(i), "label": i} for i in range(40)]
    # Packing refuses what is no image in an image field; a field of bytes takes anything.
    fb.write_dataset(tmp_path / "d", rows, {"image": "bytes", "label": "int64"}, format=format)
    mine = loader(
        fb.open_dataset(tmp_path / "d"), threads, decode={"image": fb.Image(T.CenterCrop(4))}
    )
    iterator = iter(mine)
    got, error = read(iterator)
    assert got == list(range(16))
    assert (error.position, error.record, error.stage, error.others) == (21, 21, "decode", 0)
    assert isinstance(error.__cause__, DecodeError)
    assert f"image of {len(bad)} bytes does not decode" in str(error)
    assert closed(mine, iterator, error)


def test_all_faults_of_a_batch_are_counted_and_the_first_is_named(kit, tmp_path, threads):
    bad = {10, 12, 15, 30}
    rows = [{"image": b"?" if i in bad else kit.picture(i), "label": i} for i in range(40)]
    fb.write_dataset(tmp_path / "d", rows, {"image": "bytes", "label": "int64"})
    mine = loader(
        fb.open_dataset(tmp_path / "d"), threads, decode={"image": fb.Image(T.CenterCrop(4))}
    )
    _, error = read(iter(mine))
    assert (error.position, error.others) == (10, 2)
    assert "(2 more in this batch)" in str(error)


def test_after_an_error_a_new_iterator_works_where_the_damage_is_mended(dataset, threads):
    flip(path_of(dataset, 1), int(dataset.table.entry(1).block_bytes[0]) + 30)
    mine = loader(dataset, threads)
    read(iter(mine))
    flip(path_of(dataset, 1), int(dataset.table.entry(1).block_bytes[0]) + 30)
    assert [n for b in mine for n in b["label"].tolist()] == list(range(N))
