"""Which rank a loader takes itself for: from arguments, a process group, or the environment."""

from __future__ import annotations

import socket

import pytest
import torch.distributed as dist

import forebay as fb
from forebay.dataloader.config import ranks_of
from forebay.dataloader.flow.ranks import ALONE, Ranks

SET = {"RANK": "2", "WORLD_SIZE": "5"}


@pytest.mark.parametrize(
    ("arguments", "group", "environment", "expected"),
    [
        ((None, None), None, {}, ALONE),
        ((None, None), None, SET, Ranks(2, 5)),
        ((None, None), Ranks(1, 3), SET, Ranks(1, 3)),
        ((0, 4), Ranks(1, 3), SET, Ranks(0, 4)),
        ((None, None), None, {"RANK": "2"}, ALONE),
        ((None, None), None, {"WORLD_SIZE": "2"}, ALONE),
    ],
)
def test_the_nearest_source_says(arguments, group, environment, expected):
    assert ranks_of(*arguments, group, environment) == expected


@pytest.mark.parametrize(
    ("arguments", "environment", "error", "message"),
    [
        ((1, None), {}, ValueError, "give both rank and world_size"),
        ((None, 1), {}, ValueError, "give both rank and world_size"),
        ((2, 2), {}, ValueError, "rank must be from 0 to 1 in a world of 2, got 2"),
        ((-1, 2), {}, ValueError, "rank must be an int of at least 0, got -1"),
        ((0, 0), {}, ValueError, "world_size must be an int of at least 1, got 0"),
        (("0", 1), {}, TypeError, "rank must be an int, got '0'"),
        ((None, None), {"RANK": "x", "WORLD_SIZE": "2"}, ValueError, "RANK and WORLD_SIZE must be"),
        ((None, None), {"RANK": "2", "WORLD_SIZE": "2"}, ValueError, "rank must be from 0 to 1"),
        ((None, None), {"RANK": "", "WORLD_SIZE": ""}, ValueError, "RANK and WORLD_SIZE must be"),
    ],
)
def test_wrong_ranks_are_refused(arguments, environment, error, message):
    with pytest.raises(error, match=message):
        ranks_of(*arguments, None, environment)


def test_the_environment_splits_a_loader(labels, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    loader = fb.DataLoader(fb.open_dataset(labels()), 5, num_workers=0)
    assert len(loader) == 5
    assert next(iter(loader))["label"].tolist() == [1, 5, 9, 13, 17]


def test_a_process_group_splits_a_loader_without_a_collective(labels, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = dist.TCPStore("127.0.0.1", port, 1, is_master=True)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        monkeypatch.setenv("RANK", "1")
        monkeypatch.setenv("WORLD_SIZE", "4")
        loader = fb.DataLoader(fb.open_dataset(labels()), 50, num_workers=0)
        assert loader.config.ranks == ALONE
        assert len(loader) == 2
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 8, "global_batch_size": 8}, r"give batch_size .* not both"),
        ({"global_batch_size": 2, "rank": 0, "world_size": 3}, "global_batch_size must be an int"),
        ({"uneven": "skip"}, r"uneven must be one of \('pad', 'wrap', 'drop'\), got 'skip'"),
        ({"uneven": "pad", "drop_last": True}, "drop_last=True leaves the last batch out"),
    ],
)
def test_options_of_batches_that_do_not_go_together_are_refused(labels, options, message):
    with pytest.raises(ValueError, match=message):
        fb.DataLoader(fb.open_dataset(labels()), **options)


@pytest.mark.parametrize("format", ["parquet", "recordio"])
@pytest.mark.parametrize(("size", "lanes"), [(1, 4), (2, 4), (4, 4), (4, 12), (3, 12), (4, 48)])
def test_ranks_that_divide_the_lanes_read_each_block_once(labels, format, size, lanes):
    dataset = fb.open_dataset(labels(format, 3000))
    mean = int(dataset.blocks.memory.mean())
    loaders = [
        fb.DataLoader(
            dataset, 7, "window", num_workers=1, window_bytes=mean * lanes * 5 // 4,
            rank=rank, world_size=size,
        )
        for rank in range(size)
    ]  # fmt: skip
    assert {loader.config.ranks.size for loader in loaders} == {size}
    found = []
    for loader in loaders:
        for batch in loader:
            found += batch["label"][: loader.batch_info.n].tolist()
    assert sorted(found) == list(range(3000))
    fetched = sum(loader.stats().stage("fetch").items for loader in loaders)
    straddle, padded = lanes - 1, size
    assert len(dataset.blocks) <= fetched <= len(dataset.blocks) + straddle + padded
