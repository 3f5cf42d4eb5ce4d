"""Images: decode, RandomResizedCrop(224), horizontal flip; float32 CHW normalised, or uint8 HWC.

Long because a workload is one file, so that all peers of a task can be read side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import pixels
from .case import FOREBAY, Epochs, Setting, Workload

BATCH = 64
SHAPES = {"float32": (3, 224, 224), "uint8": (224, 224, 3)}


def samples(batch: Any) -> int:
    """Images in a batch: a tensor, or a list that begins with it."""
    return len(batch[0] if isinstance(batch, list | tuple) else batch)


def check(batch: Any, setting: Setting) -> int:
    """Raises ValueError unless the images are a tensor of the variant's shape and dtype."""
    import torch

    images = batch[0] if isinstance(batch, list | tuple) else batch
    if not isinstance(images, torch.Tensor) or tuple(images.shape[1:]) != SHAPES[setting.variant]:
        raise ValueError(f"expected (N, {SHAPES[setting.variant]}), got {images!r:.200}")
    if str(images.dtype) != f"torch.{setting.variant}" or not images.is_contiguous():
        raise ValueError(f"expected {setting.variant}, got {images.dtype} {images.stride()}")
    # A picture has contrast; zeros would mean that nothing was decoded.
    if not all(float(one.float().std()) > 0 for one in images[:8]):
        raise ValueError("an image of the batch has one colour only")
    return len(images)


IMAGES = Workload(
    "images",
    "JPEG photos: decode, RandomResizedCrop(224), flip, normalise to float32 CHW; batch 64",
    "images",
    "images",
    BATCH,
    check,
    samples,
    variant="float32",
)
UINT8 = replace(
    IMAGES,
    name="images-uint8",
    title="JPEG photos: decode, RandomResizedCrop(224), flip; uint8 HWC; batch 64",
    variant="uint8",
    peers=IMAGES.peers,
)
WORKLOADS = (IMAGES, UINT8)


def forebay_loader(setting: Setting, form: str) -> Iterable[Any]:
    """Our loader over one format, as the README shows it; the one place that names its API."""
    import forebay as fb

    T = fb.transforms  # noqa: N806  as in the README
    normalize = [T.Normalize(*T.IMAGENET)] if setting.variant == "float32" else []
    image = fb.Image(
        T.RandomResizedCrop(224),
        T.RandomHorizontalFlip(),
        *normalize,
        layout="CHW" if setting.variant == "float32" else "HWC",
    )
    return fb.DataLoader(
        fb.open_dataset(setting.data / form, columns=["image", "label"]),
        batch_size=setting.batch,
        shuffle=True,
        seed=0,
        drop_last=True,
        num_workers=setting.workers,
        decode={"image": image},
        memory="256MB",
        prefetch=2,
    )


@IMAGES.peer("recordio", imports=FOREBAY)
def forebay(setting: Setting) -> Iterable[Any]:
    """RecordIO shards, files' bytes as they are; all records shuffled; one thread a processor;
    memory="256MB", prefetch=2 (DALI's queue is as long)."""
    return forebay_loader(setting, "recordio")


@IMAGES.peer("seekable", imports=FOREBAY)
def forebay_seekable(setting: Setting) -> Iterable[Any]:
    """As forebay, over seekable JPEG in RecordIO shards, as `forebay pack` writes them."""
    return forebay_loader(setting, "seekable")


@IMAGES.peer("parquet", imports=FOREBAY)
def forebay_parquet(setting: Setting) -> Iterable[Any]:
    """As forebay, over Parquet shards, shuffled over a window of blocks."""
    return forebay_loader(setting, "parquet")


@IMAGES.peer("seekable-parquet", imports=FOREBAY)
def forebay_seekable_parquet(setting: Setting) -> Iterable[Any]:
    """As forebay-parquet, over seekable JPEG in Parquet shards: the default of `forebay pack`."""
    return forebay_loader(setting, "seekable-parquet")


@IMAGES.peer("resized", imports=FOREBAY)
def forebay_resized(setting: Setting) -> Iterable[Any]:
    """As forebay, over photos that `forebay pack --resize 256` scaled to a short side of 256 pixels
    (JPEG of quality 90): another task than most rows, to be held against ffcv-raw."""
    return forebay_loader(setting, "resized")


class Files:
    """A torch dataset of files, or of bytes held by `read`, decoded one by one."""

    def __init__(self, paths: list[Path], decode: Callable[[bytes, str], Any], variant: str):
        self._paths, self._decode, self._variant = paths, decode, variant

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, i: int) -> Any:
        import torch

        return torch.from_numpy(self._decode(self._paths[i].read_bytes(), self._variant))


def paths(setting: Setting) -> list[Path]:
    """The files of all photos."""
    return sorted((setting.data / "files").rglob("*.jpg"))


def torch_loader(dataset: Any, setting: Setting, **options: Any) -> Any:
    """Torch's DataLoader as its users set it up: one process more than processors, kept alive."""
    import torch
    from torch.utils.data import DataLoader

    # What a worker's collate stacks into shared memory goes faster by file name than by descriptor.
    torch.multiprocessing.set_sharing_strategy("file_system")
    defaults = {
        "batch_size": setting.batch,
        "num_workers": setting.workers + 1,
        "persistent_workers": True,
        "drop_last": True,
    }
    return DataLoader(dataset, **(defaults | options))


@IMAGES.peer("files", imports=("torch.utils.data", "PIL.Image"))
def torch_pillow(setting: Setting) -> Iterable[Any]:
    """Torch DataLoader over files, Pillow, processors + 1 persistent workers, file_system sharing.
    Pillow decodes the whole image and resamples with antialiasing."""
    dataset = Files(paths(setting), pixels.with_pillow, setting.variant)
    return torch_loader(dataset, setting, shuffle=True)


@IMAGES.peer("files", environment="opencv", imports=("torch.utils.data", "cv2", "simplejpeg"))
def torch_opencv(setting: Setting) -> Iterable[Any]:
    """Torch DataLoader over files, simplejpeg and OpenCV (bilinear, no antialiasing),
    processors + 1 persistent workers, file_system sharing; OpenCV's own threads off."""
    dataset = Files(paths(setting), pixels.with_opencv, setting.variant)
    return torch_loader(dataset, setting, shuffle=True)


class _TorchvisionFiles:
    """A torch dataset of files through torchvision's own decoder and v2 transforms."""

    def __init__(self, found: list[Path], variant: str) -> None:
        import torch
        from torchvision.transforms import v2

        steps = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
        if variant == "float32":
            steps.append(v2.ToDtype(torch.float32, scale=True))
            steps.append(v2.Normalize(pixels.MEAN, pixels.STD))
        self._paths, self._variant, self._steps = found, variant, v2.Compose(steps)

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, i: int) -> Any:
        from torchvision.io import ImageReadMode, decode_jpeg, read_file

        image = self._steps(decode_jpeg(read_file(str(self._paths[i])), ImageReadMode.RGB))
        return image.permute(1, 2, 0).contiguous() if self._variant == "uint8" else image


@IMAGES.peer(
    "files", environment="torchvision", imports=("torchvision.transforms.v2", "torchvision.io")
)
def torchvision(setting: Setting) -> Iterable[Any]:
    """Torch DataLoader over files, torchvision.io.decode_jpeg and transforms v2, processors + 1
    persistent workers. Needs another torch than the project's CPU build, so it brings its own."""
    return torch_loader(_TorchvisionFiles(paths(setting), setting.variant), setting, shuffle=True)


@IMAGES.peer("files", environment="torchdata", imports=("torchdata.nodes", "cv2", "simplejpeg"))
def torchdata_nodes(setting: Setting) -> Iterable[Any]:
    """torchdata.nodes: sampler, ParallelMapper with one thread a processor, batches, prefetch of 2;
    simplejpeg and OpenCV. Order is kept (in_order), as the others do."""
    import torch
    from torchdata import nodes

    dataset = Files(paths(setting), pixels.with_opencv, setting.variant)
    sampler: Any = torch.utils.data.RandomSampler(range(len(dataset)))
    node: Any = nodes.SamplerWrapper(sampler)
    node = nodes.ParallelMapper(node, dataset.__getitem__, setting.workers, in_order=True)
    node = nodes.Mapper(nodes.Batcher(node, setting.batch, drop_last=True), torch.stack)
    return nodes.Loader(nodes.Prefetcher(node, 2))


@IMAGES.peer("files", environment="dali", imports=("nvidia.dali.plugin.pytorch",))
def dali(setting: Setting) -> Iterable[Any]:
    """DALI on the CPU: file reader, decoders.image_random_crop (decodes the window alone), resize,
    crop_mirror_normalize; one thread a processor, prefetch of 2. DALI resizes without
    antialiasing unless asked."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    whole = setting.variant == "float32"

    @pipeline_def(batch_size=setting.batch, num_threads=setting.workers, device_id=None, seed=1)
    def pipeline() -> tuple[Any, Any]:
        data, label = fn.readers.file(
            file_root=str(setting.data / "files"), random_shuffle=True, name="reader"
        )
        image = fn.decoders.image_random_crop(data, device="cpu", random_area=(0.08, 1.0))
        image = fn.resize(image, resize_x=224, resize_y=224, antialias=False)
        image = fn.crop_mirror_normalize(
            image,
            mirror=fn.random.coin_flip(),
            dtype=types.FLOAT if whole else types.UINT8,
            output_layout="CHW" if whole else "HWC",
            mean=[255 * m for m in pixels.MEAN] if whole else [0.0],
            std=[255 * s for s in pixels.STD] if whole else [1.0],
        )
        return image, label

    loader = DALIGenericIterator(
        [pipeline()],
        ["image", "label"],
        reader_name="reader",
        auto_reset=True,
        last_batch_policy=LastBatchPolicy.DROP,
    )
    return Epochs(lambda _: (batch[0]["image"] for batch in loader))


@IMAGES.peer("files", environment="grain", imports=("grain", "cv2", "simplejpeg"))
def grain_threads(setting: Setting) -> Iterable[Any]:
    """Grain MapDataset over files: shuffle, map, batch; to_iter_dataset with one read thread a
    processor and a buffer of 4 batches; simplejpeg and OpenCV. The batch is a NumPy array of
    Grain's, viewed as a tensor."""
    import grain
    import torch

    def decode(path: Path) -> Any:
        return pixels.with_opencv(path.read_bytes(), setting.variant)

    def epoch(number: int) -> Iterator[Any]:
        # Batches are elements here, so threads build whole batches.
        source = grain.MapDataset.source(paths(setting)).shuffle(seed=number)
        options = grain.ReadOptions(num_threads=setting.workers, prefetch_buffer_size=4)
        batches = source.map(decode).batch(setting.batch, drop_remainder=True)
        for batch in batches.to_iter_dataset(options):
            yield torch.from_numpy(batch)

    return Epochs(epoch)


@IMAGES.peer("files", environment="spdl", imports=("spdl.pipeline", "cv2", "simplejpeg"))
def spdl(setting: Setting) -> Iterable[Any]:
    """SPDL pipeline: shuffled paths, batches, one thread a processor that builds a whole batch each
    with simplejpeg and OpenCV, buffer of 3. A pipeline is built anew for each epoch."""
    import random

    import numpy as np
    import torch
    from spdl.pipeline import PipelineBuilder

    found = paths(setting)

    def build(batch: list[Path]) -> Any:
        decoded = [pixels.with_opencv(p.read_bytes(), setting.variant) for p in batch]
        return torch.from_numpy(np.stack(decoded))

    def epoch(number: int) -> Iterator[Any]:
        order = found.copy()
        random.Random(number).shuffle(order)
        builder = PipelineBuilder().add_source(order)
        builder = builder.aggregate(setting.batch, drop_last=True)
        builder = builder.pipe(build, concurrency=setting.workers).add_sink(3)
        pipeline = builder.build(num_threads=setting.workers)
        with pipeline.auto_stop():
            yield from pipeline

    return Epochs(epoch)


def mosaic_type() -> type:
    """StreamingDataset with decoding, made here since its base is in the peer's environment."""
    from streaming import StreamingDataset

    class Photos(StreamingDataset):
        """Decodes one sample of the shards."""

        variant = "float32"

        def __getitem__(self, at: Any) -> Any:
            import torch

            sample = super().__getitem__(at)
            return torch.from_numpy(pixels.with_opencv(sample["image"], self.variant))

    return Photos


@IMAGES.peer("mds", environment="mosaic", imports=("streaming", "cv2", "simplejpeg"))
def mosaic(setting: Setting) -> Iterable[Any]:
    """MosaicML StreamingDataset over local uncompressed MDS, shuffle=True (py1e), in torch's
    DataLoader with processors + 1 persistent workers; simplejpeg and OpenCV. Shared memory of a run
    that was killed must be cleaned before the next."""
    import streaming.base.util

    streaming.base.util.clean_stale_shared_memory()
    dataset = mosaic_type()(local=str(setting.data / "mds"), shuffle=True, batch_size=BATCH)
    dataset.variant = setting.variant
    return torch_loader(dataset, setting)


def litdata_type() -> type:
    """LitData's StreamingDataset with decoding, made here as its base is in the environment."""
    from litdata import StreamingDataset

    class Photos(StreamingDataset):
        """Decodes one sample of the chunks."""

        variant = "float32"

        def __getitem__(self, at: Any) -> Any:
            import torch

            return torch.from_numpy(
                pixels.with_opencv(super().__getitem__(at)["image"], self.variant)
            )

    return Photos


@IMAGES.peer("litdata", environment="litdata", imports=("litdata", "cv2", "simplejpeg"))
def litdata(setting: Setting) -> Iterable[Any]:
    """LitData StreamingDataset over local chunks, shuffle=True, in its StreamingDataLoader with
    processors + 1 persistent workers; simplejpeg and OpenCV. `optimize` must run below a main
    guard, or it writes nothing and succeeds."""
    from litdata import StreamingDataLoader

    dataset = litdata_type()(str(setting.data / "litdata"), shuffle=True, drop_last=True)
    dataset.variant = setting.variant
    return StreamingDataLoader(
        dataset,
        batch_size=setting.batch,
        num_workers=setting.workers + 1,
        persistent_workers=True,
        drop_last=True,
    )


@IMAGES.peer("tar", environment="webdataset", imports=("webdataset", "cv2", "simplejpeg"))
def webdataset(setting: Setting) -> Iterable[Any]:
    """WebDataset over eight local tar files, shards shuffled, then a buffer of 1,000 samples, in
    WebLoader with processors + 1 persistent workers, batches made in the worker; simplejpeg and
    OpenCV. A shuffle buffer holds encoded bytes and fills before the first batch."""
    import torch
    import webdataset as wds

    urls = sorted(map(str, (setting.data / "tar").glob("*.tar")))
    variant = setting.variant
    dataset = (
        wds.WebDataset(urls, shardshuffle=100, seed=0, nodesplitter=wds.split_by_node)
        .shuffle(1000, initial=100)
        .to_tuple("jpg")
        .map_tuple(lambda data: torch.from_numpy(pixels.with_opencv(data, variant)))
        .batched(setting.batch, partial=False)
    )
    # WebDataset's batches are lists of fields; its loader must not batch again.
    return wds.WebLoader(
        dataset, batch_size=None, num_workers=setting.workers + 1, persistent_workers=True
    )


class _Decode:
    """A transform of Hugging Face's: columns of encoded images to a column of tensors."""

    def __init__(self, variant: str) -> None:
        self._variant = variant

    def __call__(self, rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        import torch

        decode = pixels.with_opencv
        return {"image": [torch.from_numpy(decode(d, self._variant)) for d in rows["image"]]}


def _only_images(samples: list[dict[str, Any]]) -> Any:
    """Collates samples to the tensor of their images."""
    import torch

    return torch.stack([sample["image"] for sample in samples])


@IMAGES.peer("arrow", environment="datasets", imports=("datasets", "cv2", "simplejpeg"))
def huggingface(setting: Setting) -> Iterable[Any]:
    """Hugging Face datasets, map-style from disk, binary column, with_transform (simplejpeg and
    OpenCV), in torch's DataLoader with processors + 1 persistent workers, shuffled by its sampler.
    Its own Image feature decodes with Pillow, which is slower."""
    from datasets import load_from_disk

    dataset = load_from_disk(str(setting.data / "arrow")).with_transform(_Decode(setting.variant))
    return torch_loader(dataset, setting, shuffle=True, collate_fn=_only_images)


class _LanceRows:
    """A torch dataset that takes a batch of rows at once; opened in the worker, not before fork."""

    def __init__(self, place: Path, variant: str) -> None:
        self._place, self._variant = place, variant
        self._opened: Any = None
        import lance

        self._rows = lance.dataset(str(place)).count_rows()

    def __len__(self) -> int:
        return int(self._rows)

    def __getitems__(self, rows: list[int]) -> list[Any]:
        import lance
        import torch

        if self._opened is None:
            self._opened = lance.dataset(str(self._place))
        # Lance gives rows in the order asked for.
        column = self._opened.take(rows, columns=["image"])["image"]
        return [torch.from_numpy(pixels.with_opencv(d.as_py(), self._variant)) for d in column]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_opened": None}


@IMAGES.peer("lance", environment="lance", imports=("lance", "cv2", "simplejpeg"))
def lance(setting: Setting) -> Iterable[Any]:
    """Lance dataset, `take` of a batch's rows in torch's DataLoader (forkserver, since Lance's
    threads do not survive a fork) with processors + 1 persistent workers; simplejpeg and OpenCV."""
    dataset = _LanceRows(setting.data / "lance", setting.variant)
    return torch_loader(dataset, setting, shuffle=True, multiprocessing_context="forkserver")


def _ffcv(setting: Setting, form: str, decoder: Any) -> Iterable[Any]:
    import numpy as np
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage

    image: list[Any] = [decoder, RandomHorizontalFlip()]
    if setting.variant == "float32":
        mean, std = (255 * np.array(v, np.float32) for v in (pixels.MEAN, pixels.STD))
        image += [NormalizeImage(mean, std, np.float32), ToTensor(), ToTorchImage(False)]
    else:
        image += [ToTensor()]
    return Loader(
        str(setting.data / form / "photos.beton"),
        batch_size=setting.batch,
        num_workers=setting.workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=True,
        pipelines={"image": image, "label": None},
    )


@IMAGES.peer("ffcv-jpg", environment="ffcv", imports=("ffcv.loader", "ffcv.transforms"))
def ffcv_jpg(setting: Setting) -> Iterable[Any]:
    """FFCV over its own file of JPEG encoded anew (quality 90, at most 512 pixels a side), one
    thread a processor, order RANDOM, os_cache; RandomResizedCropRGBImageDecoder, flip,
    NormalizeImage. Compiles its pipeline with numba in each process, which is its first batch."""
    from ffcv.fields.decoders import RandomResizedCropRGBImageDecoder

    return _ffcv(setting, "ffcv-jpg", RandomResizedCropRGBImageDecoder((224, 224)))


@IMAGES.peer("ffcv-raw", environment="ffcv", imports=("ffcv.loader", "ffcv.transforms"))
def ffcv_raw(setting: Setting) -> Iterable[Any]:
    """As ffcv-jpg, over raw pixels of at most 256 a side: no decoding, another task than the
    other rows, and several times the bytes."""
    from ffcv.fields.decoders import RandomResizedCropRGBImageDecoder

    return _ffcv(setting, "ffcv-raw", RandomResizedCropRGBImageDecoder((224, 224)))
