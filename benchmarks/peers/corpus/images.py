"""Photos: the sample of ImageNet beside the project, each format holding every photo COPIES times.

More copies make an epoch long against its start; sizes are those of all copies.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..environments import ROOT
from ..words import last_words
from .make import Format

COPIES = 4


def originals() -> list[Path]:
    """The photos' files, in order of their names.

    Raises:
        FileNotFoundError: there are none.
    """
    data = Path(os.environ.get("FOREBAY_TEST_DATA", ROOT.parent / "shared" / "data"))
    found = sorted((data / "imagenet-sample").glob("*.JPEG"))
    if not found:
        raise FileNotFoundError(f"no photos in {data / 'imagenet-sample'}; set FOREBAY_TEST_DATA")
    return found


def samples(folder: Path) -> Iterator[tuple[str, bytes, int]]:
    """(name, the file's bytes, label) of every sample; one class a photo."""
    for path in sorted((folder / "files").rglob("*.jpg")):
        yield path.stem, path.read_bytes(), int(path.stem[-4:])


def files(folder: Path, out: Path) -> None:
    """One file a photo, in ten folders as classes."""
    for copy in range(COPIES):
        for i, path in enumerate(originals()):
            place = out / f"{i % 10}" / f"{copy:02d}-{i:04d}.jpg"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())


def forebay(folder: Path, out: Path, format: str) -> None:
    """Shards of forebay, the files' bytes kept as they are."""
    import forebay as fb

    records = ({"image": data, "label": label} for _, data, label in samples(folder))
    fields = {"image": "jpeg", "label": "int64"}
    fb.write_dataset(out, records, fields, format=format, codec="none", shard_bytes=64 << 20)


def _pack(folder: Path, out: Path, form: str, *options: str) -> None:
    command = [sys.executable, "-m", "forebay.tools", "pack", str(folder / "files"), str(out)]
    command += ["--format", form, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(last_words(done.stderr))


def seekable(folder: Path, out: Path) -> None:
    """RecordIO of forebay with seekable JPEG."""
    _pack(folder, out, "recordio", "--images", "seekable")


def seekable_parquet(folder: Path, out: Path) -> None:
    """Parquet of forebay with seekable JPEG."""
    _pack(folder, out, "parquet", "--images", "seekable")


def resized(folder: Path, out: Path) -> None:
    """RecordIO of forebay, photos scaled to a short side of 256 pixels, JPEG of quality 90."""
    _pack(folder, out, "recordio", "--resize", "256")


def tar(folder: Path, out: Path) -> None:
    """WebDataset: eight tar files of NAME.jpg and NAME.cls."""
    out.mkdir()
    everything = list(samples(folder))
    for shard in range(8):
        with tarfile.open(out / f"{shard:03d}.tar", "w") as file:
            for name, data, label in everything[shard::8]:
                for suffix, content in (("jpg", data), ("cls", str(label).encode())):
                    info = tarfile.TarInfo(f"{name}.{suffix}")
                    info.size = len(content)
                    file.addfile(info, io.BytesIO(content))


def mds(folder: Path, out: Path) -> None:
    """MosaicML's MDS, uncompressed, shards of 64 MB."""
    from streaming import MDSWriter

    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=str(out), columns=columns, size_limit=1 << 26) as writer:
        for _, data, label in samples(folder):
            writer.write({"image": data, "label": label})


def litdata(folder: Path, out: Path) -> None:
    """LitData's chunks of 64 MB, written by `optimize` from one process."""
    from litdata import optimize

    optimize(
        fn=_litdata_sample,
        inputs=[str(p) for p in sorted((folder / "files").rglob("*.jpg"))],
        output_dir=str(out),
        chunk_bytes="64MB",
        num_workers=1,
    )


def _litdata_sample(path: str) -> dict[str, Any]:
    return {"image": Path(path).read_bytes(), "label": int(Path(path).stem[-4:])}


def array_record(folder: Path, out: Path) -> None:
    """64 ArrayRecord files, one record a group: a read costs in proportion to a file's records."""
    from array_record.python import array_record_module as module

    out.mkdir()
    writers = [module.ArrayRecordWriter(str(out / f"{i:02d}"), "group_size:1") for i in range(64)]
    for i, (_, data, _) in enumerate(samples(folder)):
        writers[i % 64].write(data)
    for writer in writers:
        writer.close()


def arrow(folder: Path, out: Path) -> None:
    """Hugging Face datasets, saved to disk: bytes of the images, not decoded."""
    from datasets import Dataset

    names, data, labels = zip(*samples(folder), strict=True)
    del names
    Dataset.from_dict({"image": list(data), "label": list(labels)}).save_to_disk(str(out))


def lance(folder: Path, out: Path) -> None:
    """One Lance dataset: a binary column and a label."""
    import lance as module
    import pyarrow as pa

    _, data, labels = zip(*samples(folder), strict=True)
    table = pa.table({"image": pa.array(list(data), pa.binary()), "label": list(labels)})
    module.write_dataset(table, str(out), max_rows_per_file=1000)


class _Photos:
    """Arrays (H, W, 3) uint8 in RGB with their labels, as FFCV's writer takes them."""

    def __init__(self, folder: Path) -> None:
        self._paths = sorted((folder / "files").rglob("*.jpg"))

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        import numpy as np
        from PIL import Image

        with Image.open(self._paths[i]) as image:
            return np.array(image.convert("RGB")), int(self._paths[i].stem[-4:])


def _ffcv(folder: Path, out: Path, **options: Any) -> None:
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter

    out.mkdir()
    fields = {"image": RGBImageField(**options), "label": IntField()}
    writer = DatasetWriter(str(out / "photos.beton"), fields, num_workers=2)
    writer.from_indexed_dataset(_Photos(folder))


def ffcv_jpg(folder: Path, out: Path) -> None:
    """FFCV with the photos encoded anew as JPEG of quality 90, at most 512 pixels a side."""
    _ffcv(folder, out, write_mode="jpg", max_resolution=512, jpeg_quality=90)


def ffcv_raw(folder: Path, out: Path) -> None:
    """FFCV with pixels as they are, at most 256 a side."""
    _ffcv(folder, out, write_mode="raw", max_resolution=256)


def forebay_recordio(folder: Path, out: Path) -> None:
    """RecordIO of forebay, uncompressed."""
    forebay(folder, out, "recordio")


def forebay_parquet(folder: Path, out: Path) -> None:
    """Parquet of forebay, uncompressed."""
    forebay(folder, out, "parquet")


_FROM = ("files",)
FORMATS = {
    "files": Format(files),
    "recordio": Format(forebay_recordio, needs=_FROM),
    "parquet": Format(forebay_parquet, needs=_FROM),
    "seekable": Format(seekable, needs=_FROM),
    "seekable-parquet": Format(seekable_parquet, needs=_FROM),
    "resized": Format(resized, needs=_FROM),
    "tar": Format(tar, needs=_FROM),
    "mds": Format(mds, "mosaic", _FROM),
    "litdata": Format(litdata, "litdata", _FROM),
    "array-record": Format(array_record, "grain", _FROM),
    "arrow": Format(arrow, "datasets", _FROM),
    "lance": Format(lance, "lance", _FROM),
    "ffcv-jpg": Format(ffcv_jpg, "ffcv", _FROM),
    "ffcv-raw": Format(ffcv_raw, "ffcv", _FROM),
}
