"""What a loader says of itself before it starts, against what it then does."""

from __future__ import annotations

import json

import pytest

import forebay as fb

T = fb.transforms


def read(loader, dataset):
    """How often each block was read in one epoch of all ranks' loaders."""
    for one in loader:
        for _ in one:
            pass
    return sum(one.stats().stage("fetch").items for one in loader) / len(dataset.blocks)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("shuffle", [False, "blocks", "window"])
@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_the_read_factor_is_what_is_read(labels, format, shuffle, size):
    dataset = fb.open_dataset(labels(format, 3000))
    held = int(dataset.blocks.memory.sum())
    loaders = [
        fb.DataLoader(
            dataset, 20, shuffle, num_workers=0, window_bytes=held // 8, memory=held * 7 // 8,
            rank=rank, world_size=size,
        )
        for rank in range(size)
    ]  # fmt: skip
    told = loaders[0].explain()
    assert not told.keeps_blocks
    assert read(loaders, dataset) == pytest.approx(told.read_factor, rel=0.1)


def test_full_order_over_parquet_states_its_factor(labels):
    dataset = fb.open_dataset(labels("parquet", 3000))
    held = int(dataset.blocks.memory.sum())
    loader = fb.DataLoader(dataset, 4, "full", num_workers=0, memory=held // 2)
    told = loader.explain()
    assert told.read_factor > 2
    assert read([loader], dataset) == pytest.approx(told.read_factor, rel=0.5)
    assert 'shuffle="window" reads each once' in str(told)


def test_it_says_what_was_asked_for(kit, tmp_path):
    path = kit.write(tmp_path / "d", 60, "recordio", "none")
    loader = fb.DataLoader(
        fb.open_dataset(path), 7, "window", num_workers=0, window_bytes="40kB", memory="64MB",
        decode={"image": fb.Image(T.CenterCrop(4)), "ids": T.Pad()}, rank=1, world_size=2,
        affinity=True, uneven="wrap",
    )  # fmt: skip
    told = loader.explain()
    assert json.loads(json.dumps(told.to_dict())) == told.to_dict()
    assert (told.order, told.affinity, told.samples) == ("window", True, 60)
    assert (told.batches, told.global_batch, told.uneven) == (len(loader), 14, "wrap")
    assert (told.rank, told.world_size, told.threads, told.memory) == (1, 2, 0, 64 * 10**6)
    assert told.decoders == {"image": "native", "ids": "pad"}
    state = loader.state_dict()["plan"]
    assert (told.lanes, told.window_blocks) == (state["lanes"], state["blocks"])
    text = str(told)
    assert f"window, {told.lanes} lanes that shuffle {told.window_blocks} blocks" in text
    assert "the same blocks in each lane every epoch" in text
    assert "all blocks fit in memory" in text


def test_affinity_needs_lanes(labels):
    with pytest.raises(ValueError, match='give shuffle="window"'):
        fb.DataLoader(fb.open_dataset(labels()), 8, "full", affinity=True)
