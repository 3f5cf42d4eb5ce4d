"""The loader as its users meet it: every format, order and kind of field, through every room."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
import shutil
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import forebay as fb

T = fb.transforms
ORDERS = (False, "blocks", "window", "full")
SMALL = {"num_workers": 0, "window_bytes": "20kB", "memory": "64MB"}


def stream(kit, path, *, columns=None, epoch=0, **options):
    """All samples of one epoch as plain tuples, without the images (bytes compare slowly)."""
    dataset = fb.open_dataset(path, columns=columns)
    loader = fb.DataLoader(dataset, **{"batch_size": 7, **SMALL, **options})
    loader.set_epoch(epoch)
    return [s for batch in loader for s in kit.samples(batch, dataset.schema.names)]


@pytest.fixture(scope="module")
def at_rest(kit, every_kind):
    """Every sample of the dataset by `ds[i]`, by its label."""
    dataset = fb.open_dataset(every_kind)
    return {
        i: kit.comparable(tuple(map(kit.plain, dataset[i].values()))) for i in range(len(dataset))
    }


@pytest.mark.parametrize("shuffle", ORDERS)
@pytest.mark.parametrize("threads", [0, 2])
def test_every_sample_comes_once_and_is_what_the_dataset_holds(
    kit, every_kind, at_rest, shuffle, threads
):
    got = [
        kit.comparable(s)
        for s in stream(kit, every_kind, shuffle=shuffle, seed=1, num_workers=threads)
    ]
    labels = [s[1] for s in got]
    assert sorted(labels) == list(range(240))
    assert all(s == at_rest[s[1]] for s in got)
    assert (labels == list(range(240))) == (shuffle is False)


@pytest.mark.parametrize("shuffle", ORDERS)
def test_threads_prefetch_and_memory_change_nothing(kit, every_kind, shuffle):
    same = {"columns": ["label", "ids", "note"], "shuffle": shuffle, "seed": 3, "epoch": 2}
    reference = stream(kit, every_kind, **same)
    assert len(reference) == 240
    for options in (
        {"num_workers": 1},
        {"num_workers": 2, "prefetch": 1},
        {"num_workers": 3, "prefetch": 9, "memory": "1GB"},
        {"num_workers": 0, "prefetch": 9},
        {"num_workers": 2, "memory": "18MB"},
    ):
        assert stream(kit, every_kind, **same, **options) == reference, options


def test_rows_read_one_by_one_are_the_same_as_from_blocks(kit, labels):
    # Held in memory, blocks are kept; with room for few of them RecordIO reads single records.
    path = labels("recordio", 3000)
    dataset = fb.open_dataset(path)
    held = int(dataset.blocks.memory.sum())
    large = fb.DataLoader(dataset, 50, "full", num_workers=0, memory=100 * held)
    small = fb.DataLoader(dataset, 50, "full", num_workers=0, memory=int(0.9 * held))
    blocks = [b["label"].tolist() for b in large]
    assert [b["label"].tolist() for b in small] == blocks
    assert sorted(n for b in blocks for n in b) == list(range(3000))
    reads = [loader.stats().stage("fetch").items for loader in (large, small)]
    assert reads[0] == len(dataset.blocks)
    assert 0 < reads[1] <= len(small), "one load reads a batch's rows, of whatever blocks"


def test_blocks_that_fit_beside_two_batches_only_are_not_read_over_and_over(kit, tmp_path):
    # They would be dropped and read again for almost every sample while four batches fly.
    records = [{"image": kit.picture(i, (60, 60))} for i in range(160)]
    fb.write_dataset(
        tmp_path / "d", records, {"image": "png"}, format="recordio", codec="none",
        block_bytes=120_000,
    )  # fmt: skip
    dataset = fb.open_dataset(tmp_path / "d")
    decode = {"image": fb.Image(T.RandomResizedCrop(256), dtype="float32")}
    batch, held = 16 * 3 * 256 * 256 * 4, int(dataset.blocks.memory.sum())
    for prefetch in (2, 4):
        loader = fb.DataLoader(
            dataset, 16, "full", num_workers=0, memory=2 * held + int(2.6 * batch),
            prefetch=prefetch, decode=decode,
        )  # fmt: skip
        assert sum(len(b["image"]) for b in loader) == 160
        assert loader.stats().bytes_read < 2 * int(dataset.blocks.bytes.sum())


def test_a_batch_is_a_list_in_the_order_asked_for_or_a_dict(every_kind):
    options = {"batch_size": 16, **SMALL}
    chosen = fb.open_dataset(every_kind, columns=["x", "label"])
    x, label = next(iter(fb.DataLoader(chosen, **options)))
    assert (x.shape, x.dtype) == ((16, 2, 3), torch.float32)
    assert label.tolist() == list(range(16))
    batch = next(iter(fb.DataLoader(fb.open_dataset(every_kind), **options)))
    assert isinstance(batch, dict)
    assert list(batch) == list(fb.open_dataset(every_kind).schema.names)
    kinds = {
        "label": torch.int64, "x": torch.float32, "flag": torch.bool, "score": torch.float64,
    }  # fmt: skip
    assert {k: v.dtype for k, v in batch.items() if isinstance(v, torch.Tensor)} == kinds
    assert {type(v) for v in batch["image"]} == {bytes}
    assert {v.dtype for v in batch["ids"]} == {torch.uint16}
    assert {type(v) for v in batch["opt"]} == {torch.Tensor, type(None)}


@pytest.mark.parametrize("format", ["parquet", "recordio"])
@pytest.mark.parametrize(
    ("n", "batch_size", "drop_last", "sizes"),
    [
        (100, 32, False, [32, 32, 32, 4]),
        (100, 32, True, [32, 32, 32]),
        (100, 50, True, [50, 50]),
        (100, 101, False, [100]),
        (100, 101, True, []),
        (1, 1, False, [1]),
        (1, 8, False, [1]),
        (0, 4, False, []),
        (0, 4, True, []),
    ],
)
def test_sizes_of_batches(labels, format, n, batch_size, drop_last, sizes):
    dataset = fb.open_dataset(labels(format, n))
    for shuffle in ORDERS:
        loader = fb.DataLoader(
            dataset, batch_size, shuffle, drop_last=drop_last, num_workers=1, memory="64MB"
        )
        assert len(loader) == len(sizes)
        assert [len(b["label"]) for b in loader] == sizes
        assert loader.stats().samples == sum(sizes)


def test_epochs_count_up_and_can_be_chosen(kit, labels):
    loader = fb.DataLoader(fb.open_dataset(labels()), 10, True, seed=5, num_workers=1)
    assert loader.epoch == 0
    first, second = ([b["label"].tolist() for b in loader] for _ in range(2))
    assert first != second
    assert loader.epoch == 2
    loader.set_epoch(1)
    assert [b["label"].tolist() for b in loader] == second
    assert loader.batch_info.epoch == 1
    loader.set_epoch(0)
    next(iter(loader))
    assert loader.epoch == 1, "an epoch that was left early counts"
    assert [b["label"].tolist() for b in loader] == second


def test_seeds(labels):
    def order(seed):
        loader = fb.DataLoader(fb.open_dataset(labels()), 100, True, seed=seed, num_workers=0)
        return next(iter(loader))["label"].tolist()

    assert order(None) == order(0) != order(1)
    assert order(2**64 - 1) != order(1)


def test_true_shuffles_as_the_format_allows(labels):
    for format, name in (("recordio", "full"), ("parquet", "window")):
        dataset = fb.open_dataset(labels(format))
        orders = [
            [b["label"].tolist() for b in fb.DataLoader(dataset, 9, s, seed=1, num_workers=0)]
            for s in (True, name)
        ]
        assert orders[0] == orders[1]


def test_batch_info(labels):
    loader = fb.DataLoader(fb.open_dataset(labels()), 30, True, num_workers=2)
    with pytest.raises(ValueError, match="no batch has been delivered"):
        _ = loader.batch_info
    loader.set_epoch(3)
    for step, batch in enumerate(loader):
        info = loader.batch_info
        n = len(batch["label"])
        assert (info.epoch, info.step, info.n, info.n_global) == (3, step, n, n)
        assert info.positions.tolist() == list(range(step * 30, step * 30 + n))
        assert (info.weight, info.faults) == (1.0, ())


@pytest.mark.parametrize("threads", [0, 2])
def test_stats(every_kind, threads):
    dataset = fb.open_dataset(every_kind)
    loader = fb.DataLoader(dataset, 16, num_workers=threads, memory="100MB")
    before = loader.stats()
    assert (before.samples, before.epochs, before.bytes_read, before.wall_s) == (0, 0, 0, 0.0)
    for _ in range(2):
        for _ in loader:
            pass
    stats = loader.stats()
    assert (stats.epochs, stats.batches, stats.samples, stats.threads) == (2, 30, 480, threads)
    assert 0 < stats.first_batch_s <= stats.wall_s
    assert 0 < stats.stall_s <= stats.wall_s * 1.001
    at_rest = int(dataset.blocks.bytes.sum())
    # Each block once, since all fit in memory, and footers or indexes, which are kept too.
    assert at_rest <= stats.bytes_read < at_rest + 200_000
    assert stats.unchecked == 0
    assert stats.budget_limit == 100_000_000
    assert 0 < stats.budget_peak <= stats.budget_limit
    assert stats.budget_overdrawn == 0
    held = {k: v for k, v in stats.budget_by_account.items() if v}
    assert set(held) <= {"indexes", "pool", "kept"}, "an epoch that is over holds no more"
    assert stats.stage("fetch").items == len(dataset.blocks)
    assert stats.stage("read").bytes == stats.bytes_read
    assert stats.stage("check").bytes == stats.bytes_read
    for name in ("decode", "batch", "device"):
        assert stats.stage(name).items == 480
        assert stats.stage(name).work_s > 0
    if threads:
        assert stats.stage("threads").wait_input_s + stats.stage("threads").wait_output_s > 0


def test_two_iterators_at_once_do_not_make_the_stall_longer_than_the_wall(labels):
    loader = fb.DataLoader(fb.open_dataset(labels()), 10, num_workers=1)
    one, two = iter(loader), iter(loader)
    assert len(list(one)) == len(list(two)) == 10
    stats = loader.stats()
    assert stats.samples == 200
    assert stats.stall_s <= stats.wall_s


def test_foreign_parquet_is_read_and_counted_as_unchecked(tmp_path):
    pq.write_table(
        pa.table({"n": list(range(50)), "t": [f"t{i}" for i in range(50)]}),
        tmp_path / "a.parquet",
        row_group_size=8,
    )
    loader = fb.DataLoader(fb.open_dataset(tmp_path), 16, "window", num_workers=2)
    got = [(n, t) for b in loader for n, t in zip(b["n"].tolist(), b["t"], strict=True)]
    assert sorted(got) == [(i, f"t{i}") for i in range(50)]
    assert loader.stats().unchecked == 50
    assert loader.stats().to_json()["unchecked"] == 50


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be an int of at least 1, got 0"),
        ({"batch_size": 2.0}, TypeError, r"batch_size must be an int, got 2.0 of type float"),
        ({"batch_size": True}, TypeError, "batch_size must be an int, got True"),
        ({"batch_size": None}, TypeError, "batch_size must be an int, got None"),
        (
            {"shuffle": "fully"},
            ValueError,
            r"shuffle must be a bool or one of \('window', 'full', 'blocks'\), got 'fully'",
        ),
        ({"shuffle": 1}, TypeError, "shuffle must be a bool or one of .* got int"),
        ({"num_workers": -1}, ValueError, "num_workers must be an int of at least 0, got -1"),
        ({"num_workers": "auto"}, TypeError, "num_workers must be an int, got 'auto'"),
        ({"seed": -1}, ValueError, "seed must be an int from 0 to 18446744073709551615, got -1"),
        ({"seed": 2**64}, ValueError, "seed must be an int from 0 to"),
        ({"seed": "x"}, TypeError, "seed must be an int, got 'x' of type str"),
        ({"memory": "lots"}, ValueError, "memory 'lots' is not a size: write .* 64MiB"),
        ({"memory": 0}, ValueError, "memory must be at least 1 byte"),
        ({"memory": -5}, ValueError, "memory must be at least 1 byte"),
        ({"memory": 1e9}, TypeError, "memory must be an int of bytes or a string such as '1GB'"),
        ({"window_bytes": "1XB"}, ValueError, "window_bytes '1XB' is not a size"),
        ({"window_bytes": None}, TypeError, "window_bytes must be an int of bytes or a string"),
        ({"prefetch": 0}, ValueError, "prefetch must be an int of at least 1, got 0"),
        ({"prefetch": "2"}, TypeError, "prefetch must be an int, got '2'"),
        ({"device": "cuda"}, ValueError, r"device must be one of \('cpu',\), got 'cuda'"),
        ({"device": None}, ValueError, "device must be one of"),
        ({"decode": fb.Image(T.CenterCrop(2))}, TypeError, "decode must be a dict of field: dec"),
        (
            {"decode": {"image": T.CenterCrop(2)}},
            TypeError,
            "must be a forebay.Image or forebay.transforms.Pad, got Cent",
        ),
        ({"decode": {"image": "RGB"}}, TypeError, r"decode\['image'\] must be a forebay.Image"),
        (
            {"decode": {"label": fb.Image(T.CenterCrop(2))}},
            ValueError,
            r"decode\['label'\]: an Image decodes image or bytes fields, but 'label' is 'int64'",
        ),
        (
            {"decode": {"picture": fb.Image(T.CenterCrop(2))}},
            ValueError,
            "no field 'picture'; the fields are image, label",
        ),
        ({"no_such_argument": 1}, TypeError, "no_such_argument"),
    ],
    ids=lambda v: next(iter(v)) if isinstance(v, dict) else None,
)
def test_wrong_arguments_are_refused_at_the_door(every_kind, options, kind, message):
    with pytest.raises(kind, match=message):
        fb.DataLoader(fb.open_dataset(every_kind), **options)


@pytest.mark.parametrize("dataset", [[1, 2, 3], "data/photos", None])
def test_other_datasets_are_refused_with_what_to_do(dataset):
    says = r"from forebay.open_dataset or forebay.mix, got .*`forebay pack` first"
    with pytest.raises(TypeError, match=says):
        fb.DataLoader(dataset, 4)


@pytest.mark.parametrize("epoch", [-1, 1.5, "1", 2**64])
def test_wrong_epochs_are_refused(labels, epoch):
    loader = fb.DataLoader(fb.open_dataset(labels()))
    with pytest.raises((TypeError, ValueError), match="epoch must be an int"):
        loader.set_epoch(epoch)


@pytest.mark.parametrize("shuffle", ORDERS)
def test_too_little_memory_names_the_least_and_the_least_works(kit, every_kind, shuffle):
    dataset = fb.open_dataset(every_kind, columns=["label", "text"])
    options = {"batch_size": 32, "shuffle": shuffle, "window_bytes": "40kB", "num_workers": 2}
    with pytest.raises(ValueError, match=r"memory=1000 bytes is too little .*smaller") as caught:
        fb.DataLoader(dataset, memory=1000, **options)
    least = int(re.search(r"give memory=(\d+) or more", str(caught.value))[1])
    with pytest.raises(ValueError, match=f"give memory={least} or more"):
        fb.DataLoader(dataset, memory=least - 1, **options)
    loader = fb.DataLoader(dataset, memory=least, **options)
    assert sorted(n for label, _ in loader for n in label.tolist()) == list(range(240))
    assert loader.stats().budget_overdrawn == 0
    assert loader.stats().budget_peak <= least


def test_full_order_over_blocks_that_do_not_fit_is_warned_of(caplog, tmp_path):
    rows = [{"blob": bytes(20_000)} for i in range(200)]
    fb.write_dataset(tmp_path / "d", rows, {"blob": "bytes"}, block_bytes=100_000)
    dataset = fb.open_dataset(tmp_path / "d")
    held = int(dataset.blocks.memory.sum())
    fb.DataLoader(dataset, 4, "full", memory=held * 2 // 3)
    assert "reads a block anew for almost every sample" in caplog.text
    caplog.clear()
    fb.DataLoader(dataset, 4, "window", memory=held * 3 // 2, window_bytes=held // 4)
    assert not caplog.text


def test_indexes_that_do_not_fit_are_warned_of(caplog, tmp_path):
    rows = [{"blob": bytes(20)} for i in range(20_000)]
    options = {"format": "recordio", "codec": "none", "block_bytes": 10_000}
    fb.write_dataset(tmp_path / "d", rows, {"blob": "bytes"}, **options)
    dataset = fb.open_dataset(tmp_path / "d")
    fb.DataLoader(dataset, 4, "full", memory=500_000)
    found = re.search(r"needs (\d+) bytes of indexes, .*give memory=(\d+) or more", caplog.text)
    assert int(found[1]) >= 20 * len(rows)
    caplog.clear()
    fb.DataLoader(dataset, 4, "full", memory=int(found[2]))
    fb.DataLoader(dataset, 4, "window", memory=500_000, window_bytes=100_000)
    assert not caplog.text


def test_nulls_without_a_value_end_in_an_error_that_says_what_to_do(tmp_path):
    rows = [{"n": i if i != 13 else None} for i in range(20)]
    fb.write_dataset(tmp_path / "d", rows, {"n": "int32?"})
    loader = fb.DataLoader(fb.open_dataset(tmp_path / "d"), 8, num_workers=0)
    iterator = iter(loader)
    assert next(iterator)["n"].tolist() == list(range(8))
    with pytest.raises(fb.errors.SampleError, match=r"position 13 .* record 13.*field 'n' is null"):
        next(iterator)


def test_shapes_of_no_elements_and_of_half_floats(tmp_path):
    rows = [{"z": np.zeros((0, 3)), "h": np.float16(i)} for i in range(5)]
    fields = {"z": "float64[0,3]", "h": "float16"}
    fb.write_dataset(tmp_path / "d", rows, fields, format="recordio")
    (batch,) = fb.DataLoader(fb.open_dataset(tmp_path / "d"), 8, num_workers=0)
    assert batch["z"].shape == (5, 0, 3)
    assert (batch["h"].dtype, batch["h"].tolist()) == (torch.float16, [0, 1, 2, 3, 4])


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_append_is_seen_by_those_who_open_afterwards(kit, tmp_path, format):
    fields = {"label": "int64"}
    kit.write(tmp_path / "d", 30, format, "none", fields)
    before = fb.DataLoader(fb.open_dataset(tmp_path / "d"), 100, num_workers=0)
    fb.write_dataset(tmp_path / "d", [{"label": 99}], fields, append=True)
    after = fb.DataLoader(fb.open_dataset(tmp_path / "d"), 100, num_workers=0)
    assert [len(b["label"]) for b in (*before, *after)] == [30, 31]


def test_the_dataset_works_under_torch_s_own_loader(kit, every_kind):
    chosen = fb.open_dataset(every_kind, columns=["label", "x", "text"])
    got = list(torch.utils.data.DataLoader(chosen, batch_size=50, num_workers=0))
    assert [len(b[0]) for b in got] == [50, 50, 50, 50, 40]
    assert torch.cat([b[0] for b in got]).tolist() == list(range(240))
    assert got[0][1].shape == (50, 2, 3)
    assert got[0][2][3] == "Größe 3 " * 3
    (whole,) = torch.utils.data.DataLoader(
        fb.open_dataset(every_kind, columns=["flag", "label"]), batch_size=240, num_workers=2
    )
    assert whole[1].tolist() == list(range(240))


def _streams(datasets, queue):
    loaders = [fb.DataLoader(d, 30, True, num_workers=2, memory="64MB") for d in datasets]
    queue.put([[b[0].tolist() for b in loader] for loader in loaders])


def test_pickled_datasets_stream_the_same_in_a_spawned_process(labels):
    datasets = [fb.open_dataset(labels(f), columns=["label"]) for f in ("parquet", "recordio")]
    context = multiprocessing.get_context("spawn")
    there, here = context.Queue(), context.Queue()
    worker = context.Process(target=_streams, args=(datasets, there))
    worker.start()
    got = there.get(timeout=120)
    worker.join(60)
    assert worker.exitcode == 0
    _streams(datasets, here)
    assert got == here.get(timeout=60)


@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_the_readme_s_pipeline(kit, tmp_path, format):
    records = [{"image": kit.picture(i, (40, 50)), "label": i} for i in range(70)]
    fields = {"image": "png", "label": "int64"}
    fb.write_dataset(tmp_path / "d", records, fields, format=format, block_bytes=50_000)
    dataset = fb.open_dataset(tmp_path / "d", columns=["image", "label"])
    image = fb.Image(T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.Normalize(*T.IMAGENET))

    def epoch(**options):
        loader = fb.DataLoader(
            dataset, 32, True, seed=0, decode={"image": image}, memory="512MB", **options
        )
        return list(loader)

    batches = epoch()
    assert [b[0].shape for b in batches] == [(32, 3, 24, 24), (32, 3, 24, 24), (6, 3, 24, 24)]
    assert batches[0][0].dtype == torch.float32
    assert sorted(torch.cat([b[1] for b in batches]).tolist()) == list(range(70))
    # Augmentation too is a function of the position, whoever does the work.
    for again in (epoch(num_workers=0), epoch(num_workers=3, prefetch=1)):
        for a, b in zip(batches, again, strict=True):
            assert torch.equal(a[0], b[0])
            assert torch.equal(a[1], b[1])


def test_batches_share_no_memory(every_kind):
    dataset = fb.open_dataset(every_kind, columns=["x", "ids"])
    kept = list(fb.DataLoader(dataset, 16, num_workers=2, memory="64MB"))
    expected = [dataset[i] for i in range(240)]
    for batch in kept:
        batch[0].add_(0)
    flat = [(x, i) for b in kept for x, i in zip(*b, strict=True)]
    for (x, ids), (x_, ids_) in zip(flat, expected, strict=True):
        assert np.array_equal(x.numpy(), x_)
        assert np.array_equal(ids.numpy(), ids_)
    kept[0][0].fill_(7)
    assert np.array_equal(dataset[0][0], expected[0][0])
    assert not (kept[1][0] == 7).all()


def test_opened_files_are_found_again_when_the_folder_is_replaced_by_its_copy(kit, tmp_path):
    path = kit.write(tmp_path / "d", 60, "recordio", "none", {"label": "int64", "text": "text"})
    dataset = fb.open_dataset(path, columns=["label"])
    loader = fb.DataLoader(dataset, 20, num_workers=0)
    shutil.copytree(path, tmp_path / "copy")
    shutil.rmtree(path)
    shutil.move(tmp_path / "copy", path)
    assert [b[0].tolist() for b in loader] == [list(range(i, i + 20)) for i in (0, 20, 40)]


def test_repr_says_what_it_is(labels):
    text = repr(fb.DataLoader(fb.open_dataset(labels()), 4, "window", num_workers=3))
    for part in ("ShardDataset", "global_batch=4", "order='window'", "threads=3"):
        assert part in text


def test_a_batch_is_charged_no_larger_than_the_dataset(labels):
    dataset = fb.open_dataset(labels("parquet", 30))
    loader = fb.DataLoader(dataset, 10**9, memory="1MB")
    assert [len(b["label"]) for b in loader] == [30]


def test_threads_that_share_an_iterator_all_see_the_end(labels):
    dataset = fb.open_dataset(labels("parquet", 1000))
    for _ in range(10):
        iterator = iter(fb.DataLoader(dataset, 10, num_workers=2))
        got, wrong = [], []

        def consume(iterator=iterator, got=got, wrong=wrong):
            try:
                for batch in iterator:
                    got.append(len(batch["label"]))
            except fb.errors.LoaderError as e:
                wrong.append(e)

        consumers = [threading.Thread(target=consume) for _ in range(3)]
        for thread in consumers:
            thread.start()
        for thread in consumers:
            thread.join(30)
        assert (sum(got), wrong) == (1000, [])


def test_a_loader_is_not_picklable_but_its_dataset_is(every_kind):
    loader = fb.DataLoader(fb.open_dataset(every_kind), 16, **SMALL)
    with pytest.raises(TypeError, match="send its dataset"):
        pickle.dumps(loader)
    with pytest.raises(TypeError, match="send its dataset"):
        copy.deepcopy(loader)
    assert len(pickle.loads(pickle.dumps(loader.dataset))) == 240
