"""Resume: the images task stopped at half an epoch; then construct, load the state, next batch.

Both happen in one process, so that no import counts; the first loader is dropped before.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import images, pixels
from .case import FOREBAY, Epochs, Ready, Setting

RESUME = replace(
    images.IMAGES,
    name="resume",
    title="The images task resumed at half an epoch: construct, load the state, next batch",
    once=True,
    peers={},
)
WORKLOADS = (RESUME,)

HALF = 31
"""Batches of 64 in half an epoch of 4,000 photos."""


def _stateful(make: Callable[[], Any]) -> Ready:
    """Runs a loader with state_dict and load_state_dict to half, and is ready to go on anew."""
    loader = make()
    running = iter(loader)
    for _ in itertools.islice(running, HALF):
        pass
    state = loader.state_dict()
    del running, loader
    gc.collect()

    def resumed() -> Iterable[Any]:
        again = make()
        again.load_state_dict(state)
        return _keeping(again)

    return Ready(resumed)


def _keeping(loader: Any) -> Iterable[Any]:
    """An iterable that holds its loader: some stop when only their iterator is left."""
    return Epochs(lambda _: iter(loader))


@RESUME.peer("recordio", imports=FOREBAY)
def forebay(setting: Setting) -> Ready:
    """As forebay in images, with state_dict and load_state_dict."""
    loader: Any = images.IMAGES.peers["forebay"].start
    return _stateful(lambda: loader(setting))


@RESUME.peer("files", environment="torchdata", imports=("torchdata.stateful_dataloader", "cv2"))
def stateful_dataloader(setting: Setting) -> Ready:
    """Torchdata's StatefulDataLoader over files, processors + 1 workers, simplejpeg and OpenCV; a
    map-style dataset, so that only its sampler is run forward."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    def make() -> Any:
        dataset = images.Files(images.paths(setting), pixels.with_opencv, setting.variant)
        options = {"shuffle": True, "drop_last": True, "num_workers": setting.workers + 1}
        return StatefulDataLoader(dataset, setting.batch, **options)

    return _stateful(make)


@RESUME.peer("files", environment="grain", imports=("grain", "cv2", "simplejpeg"))
def grain_threads(setting: Setting) -> Ready:
    """Grain as in images: get_state and set_state of its iterator."""
    import grain
    import torch

    def decode(path: Path) -> Any:
        return pixels.with_opencv(path.read_bytes(), setting.variant)

    def make() -> Any:
        source = grain.MapDataset.source(images.paths(setting)).shuffle(seed=0)
        options = grain.ReadOptions(num_threads=setting.workers, prefetch_buffer_size=4)
        batches = source.map(decode).batch(setting.batch, drop_remainder=True)
        return iter(batches.to_iter_dataset(options))

    running = make()
    for _ in itertools.islice(running, HALF):
        pass
    state = running.get_state()
    del running

    def resumed() -> Iterator[Any]:
        again = make()
        again.set_state(state)
        return map(torch.from_numpy, again)

    return Ready(resumed)


@RESUME.peer("mds", environment="mosaic", imports=("streaming", "cv2", "simplejpeg"))
def mosaic(setting: Setting) -> Ready:
    """MosaicML StreamingDataset as in images, in its own StreamingDataLoader, whose state_dict
    counts samples; processors + 1 workers."""
    import streaming

    dataset_type = images.mosaic_type()

    def make() -> Any:
        streaming.base.util.clean_stale_shared_memory()
        local = str(setting.data / "mds")
        dataset = dataset_type(local=local, shuffle=True, batch_size=setting.batch)
        return streaming.StreamingDataLoader(
            dataset, batch_size=setting.batch, num_workers=setting.workers + 1, drop_last=True
        )

    return _stateful(make)


@RESUME.peer("litdata", environment="litdata", imports=("litdata", "cv2", "simplejpeg"))
def litdata(setting: Setting) -> Ready:
    """LitData as in images, by the state_dict of its StreamingDataLoader."""
    from litdata import StreamingDataLoader

    dataset_type = images.litdata_type()

    def make() -> Any:
        dataset = dataset_type(str(setting.data / "litdata"), shuffle=True, drop_last=True)
        options = {"num_workers": setting.workers + 1, "drop_last": True}
        return StreamingDataLoader(dataset, batch_size=setting.batch, **options)

    return _stateful(make)
