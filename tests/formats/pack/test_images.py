"""What `pack` makes of the images that pass through it."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from forebay.dataloader.decode.reencode import Reencode
from forebay.formats.column import row_at
from forebay.formats.dataset import open_dataset
from forebay.formats.destination import WriteOptions
from forebay.formats.errors import SourceError, UnfinishedDataset
from forebay.formats.pack import images
from forebay.formats.pack.options import PackOptions
from forebay.formats.pack.packing import Running, pack
from forebay.formats.sources.source import SourceOptions
from forebay.formats.verify import verify_dataset
from forebay.kernels.jpeg_transcode import available, transcode

needs_jpeg = pytest.mark.skipif(not available(), reason="built without libjpeg-turbo's headers")

SMALL = PackOptions(shard_bytes=6000, block_bytes=1500)
ALONE = Running(workers=1)


def _images(path):
    ds = open_dataset(path)
    return [
        dict(zip(ds.schema.names, row_at(ds.schema, ds.read(b), i), strict=True))["image"]
        for b in range(len(ds.blocks.rows))
        for i in range(int(ds.blocks.rows[b]))
    ]


def _encoded(kind, seed=0, size=(24, 20), **options):
    pixels = np.random.default_rng(seed).integers(0, 256, (*size[::-1], 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **options)
    return out.getvalue()


@needs_jpeg
@pytest.mark.parametrize("format", ["parquet", "recordio"])
def test_photos_become_seekable(shared_data, tmp_path, format):
    photos = tmp_path / "photos"
    photos.mkdir()
    files = sorted((shared_data / "imagenet-sample").iterdir())[:60]
    for file in files:
        (photos / file.name).symlink_to(file)
    options = PackOptions(write=WriteOptions(format), shard_bytes=2 << 20)
    report = pack(photos, tmp_path / "d", options, Running(workers=2))
    assert report.images == "seekable"
    assert report.image_fates == {"transcoded": 60}
    found = _images(tmp_path / "d")
    assert sorted(found) == sorted(transcode(f.read_bytes()).data for f in files)
    assert verify_dataset(tmp_path / "d").ok


@needs_jpeg
def test_odd_images_and_what_is_no_jpeg_are_kept(shared_data, tmp_path):
    folder = shared_data / "odd-images"
    files = {f: transcode(f.read_bytes()) for f in folder.iterdir()}
    report = pack(folder, tmp_path / "d", SMALL, ALONE)
    wanted = Counter(done.reason or "transcoded" for done in files.values())
    assert report.image_fates == wanted
    assert wanted.keys() == {"transcoded", "not-jpeg", "corrupt", "quantisation"}
    stored = sorted(done.data or f.read_bytes() for f, done in files.items())
    assert sorted(_images(tmp_path / "d")) == stored


def test_keep_keeps_every_byte(shared_data, tmp_path):
    folder = shared_data / "odd-images"
    report = pack(folder, tmp_path / "d", replace(SMALL, images="keep"), ALONE)
    assert (report.images, report.image_fates, report.notes) == ("keep", {}, ())
    assert sorted(_images(tmp_path / "d")) == sorted(f.read_bytes() for f in folder.iterdir())


@needs_jpeg
def test_metadata(tmp_path):
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 3, "a story"
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.jpg").write_bytes(_encoded("JPEG", exif=exif, comment=b"hello"))
    found = {}
    for keep in (False, True):
        pack(tmp_path / "s", tmp_path / str(keep), replace(SMALL, keep_metadata=keep), ALONE)
        (found[keep],) = _images(tmp_path / str(keep))
        assert Image.open(io.BytesIO(found[keep])).getexif()[0x0112] == 3
    assert (b"story" in found[True], b"hello" in found[True]) == (True, True)
    assert (b"story" in found[False], b"hello" in found[False]) == (False, False)


@needs_jpeg
def test_resized_images_become_seekable_too(tmp_path):
    (tmp_path / "s").mkdir()
    small = Reencode(16, 90)
    wanted = []
    for i, kind in enumerate(["JPEG", "PNG"] * 3):
        data = _encoded(kind, i, (64, 48))
        (tmp_path / "s" / f"{i}.{kind.lower()}").write_bytes(data)
        wanted.append(transcode(small(data)).data)
    running = Running(workers=1, reencode=small)
    report = pack(tmp_path / "s", tmp_path / "d", replace(SMALL, resize=16), running)
    assert report.image_fates == {"transcoded": 6}
    assert sorted(_images(tmp_path / "d")) == sorted(wanted)
    pack(tmp_path / "s", tmp_path / "k", replace(SMALL, resize=16, images="keep"), running)
    assert sorted(transcode(d).data for d in _images(tmp_path / "k")) == sorted(wanted)


@needs_jpeg
def test_images_of_parquet(tmp_path):
    jpeg, png = _encoded("JPEG"), _encoded("PNG")
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    values = [{"bytes": b, "path": p} for b, p in ((jpeg, "a.jpg"), (png, "b.png"))]
    meta = {"huggingface": '{"info": {"features": {"image": {"_type": "Image"}}}}'}
    column = pa.array([*values, None], kind)
    table = pa.table({"image": column, "n": [1, 2, 3]}).replace_schema_metadata(meta)
    pq.write_table(table, tmp_path / "t.parquet")
    report = pack(tmp_path / "t.parquet", tmp_path / "d", SMALL, ALONE)
    assert report.image_fates == {"not-jpeg": 1, "transcoded": 1}
    assert _images(tmp_path / "d") == [transcode(jpeg).data, png, None]


class StopAt:
    """Stands in for a user who presses Ctrl-C once so many shards are done."""

    def __init__(self, shards):
        self.shards = shards

    def __call__(self, progress):
        if progress.shards >= self.shards:
            raise KeyboardInterrupt


@needs_jpeg
def test_a_stopped_pack_goes_on_by_the_same_settings_alone(tree, tmp_path, same):
    (tree / "class0" / "half.jpg").write_bytes(_encoded("JPEG")[:-40])
    whole = pack(tree, tmp_path / "whole", SMALL, ALONE)
    assert whole.image_fates == {"corrupt": 1, "transcoded": 60}
    with pytest.raises(KeyboardInterrupt):
        pack(tree, tmp_path / "d", SMALL, Running(workers=1, progress=StopAt(4)))
    with pytest.raises(UnfinishedDataset, match="images was 'seekable', now 'keep'"):
        pack(tree, tmp_path / "d", replace(SMALL, images="keep"), ALONE)
    with pytest.raises(UnfinishedDataset, match="keep_metadata was False, now True"):
        pack(tree, tmp_path / "d", replace(SMALL, keep_metadata=True), ALONE)
    report = pack(tree, tmp_path / "d", replace(SMALL, images="seekable"), ALONE)
    assert report.shards_reused >= 4
    assert report.image_fates == whole.image_fates
    assert same(tmp_path / "whole", tmp_path / "d")


def _refuse_odd(data):
    if data[-3] % 2:
        raise SourceError("no picture")
    return data


@needs_jpeg
def test_left_out_images_meet_no_fate(tree, tmp_path):
    options = replace(SMALL, resize=5, source=SourceOptions(skip_bad=True))
    report = pack(tree, tmp_path / "d", options, Running(workers=1, reencode=_refuse_odd))
    assert len(report.skipped) > 5
    assert report.image_fates == {"transcoded": 60 - len(report.skipped)}


def test_without_native_jpeg(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(images, "available", lambda: False)
    with pytest.raises(SourceError, match=r"libjpeg62-turbo-dev.*--images keep"):
        pack(tree, tmp_path / "d", replace(SMALL, images="seekable"), ALONE)
    assert not (tmp_path / "d").exists()
    report = pack(tree, tmp_path / "d", SMALL, ALONE)
    assert (report.images, report.image_fates) == ("keep", {})
    (note,) = report.notes
    assert "libjpeg62-turbo-dev" in note
    assert sorted(_images(tmp_path / "d")) == sorted(p.read_bytes() for p in tree.rglob("*.jpg"))
    report = pack(tree, tmp_path / "k", replace(SMALL, images="keep"), ALONE)
    assert report.notes == ()
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert pack(tmp_path / "t.csv", tmp_path / "t", SMALL, ALONE).notes == ()


@pytest.mark.parametrize(
    ("more", "name"),
    [({"images": "seekable"}, "images 'seekable'"), ({"keep_metadata": True}, "keep-metadata")],
)
@needs_jpeg
def test_settings_of_images_where_there_are_none(tmp_path, more, name):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match=f"{name} is for images"):
        pack(tmp_path / "t.csv", tmp_path / "t", replace(SMALL, **more), ALONE)
    report = pack(tmp_path / "t.csv", tmp_path / "t", SMALL, ALONE)
    assert report.image_fates == {}
