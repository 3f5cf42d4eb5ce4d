"""Slices of seekable JPEGs, as other decoders take them."""

import io

import numpy as np
import PIL.Image
import pytest

from forebay.kernels import _native, jpeg_slice

pytestmark = pytest.mark.skipif(
    not hasattr(_native, "jpeg_slice"), reason="built without libjpeg-turbo's headers"
)

GRADIENT = np.add.outer(np.arange(96) * 2, np.arange(128)).astype(np.uint8)
SCENE = PIL.Image.fromarray(
    np.stack([GRADIENT, GRADIENT.T[:96, :96].repeat(2, 1)[:, :128], 255 - GRADIENT], axis=2)
)


def saved(image=SCENE, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def pixels(data):
    with PIL.Image.open(io.BytesIO(data)) as image:
        assert image.format == "JPEG"
        return np.asarray(image)


def test_only_what_is_touched_is_taken():
    data = saved(restart_marker_blocks=2)
    whole = pixels(data)
    small, (top, left) = jpeg_slice.slice_of(data, (40, 70, 5, 6))
    part = pixels(small)
    # MCUs of 16 x 16: 38 to 47 is one row with its margin, 68 to 78 one interval of 32.
    assert part.shape == (16, 32, 3)
    assert (top, left) == (8, 6)
    assert np.array_equal(part[8:13, 6:12], whole[40:45, 70:76])
    assert len(small) < len(data) / 2


def test_a_margin_reaches_into_the_neighbours():
    data = saved(restart_marker_blocks=1)
    small, place = jpeg_slice.slice_of(data, (16, 16, 16, 16))
    assert pixels(small).shape == (48, 48, 3)
    assert place == (16, 16)


def test_metadata_stays_behind():
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    data = saved(restart_marker_rows=1, exif=exif, comment=b"c" * 500, icc_profile=bytes(3000))
    small, _ = jpeg_slice.slice_of(data, (0, 0, 96, 128))
    assert len(small) < len(data) - 3500
    with PIL.Image.open(io.BytesIO(small)) as image:
        assert image.getexif().get(0x0112) is None
    assert np.array_equal(pixels(small), pixels(data))


def test_rgb_stays_rgb():
    """The Adobe marker says that there is no luma; without it colours would turn."""
    data = saved(restart_marker_rows=1, keep_rgb=True)
    small, _ = jpeg_slice.slice_of(data, (0, 0, 96, 128))
    assert np.array_equal(pixels(small), pixels(data))


def test_row_starts_follow_markers():
    data = saved(restart_marker_blocks=2)
    starts = jpeg_slice.row_starts(data)
    assert len(starts) == 6
    for row, start in enumerate(starts[1:].tolist(), 1):
        assert data[start - 2 : start] == bytes([0xFF, 0xD0 + (4 * row - 1) % 8])


def test_a_slice_by_dali(shared_data):
    fn = pytest.importorskip("nvidia.dali.fn")
    dali = pytest.importorskip("nvidia.dali")
    transcode = pytest.importorskip("forebay.kernels.jpeg_transcode").transcode
    files = sorted((shared_data / "imagenet-sample").iterdir())[:20]
    window = (30, 40, 90, 100)
    wholes, slices, places = [], [], []
    for file in files:
        data = transcode(file.read_bytes()).data
        small, place = jpeg_slice.slice_of(data, window)
        wholes.append(np.frombuffer(data, np.uint8))
        slices.append(np.frombuffer(small, np.uint8))
        places.append(place)

    @dali.pipeline_def(batch_size=len(files), num_threads=1, device_id=None)
    def decoded():
        whole = fn.external_source(name="whole", device="cpu", dtype=dali.types.UINT8, ndim=1)
        part = fn.external_source(name="part", device="cpu", dtype=dali.types.UINT8, ndim=1)
        return fn.decoders.image(whole), fn.decoders.image(part)

    pipeline = decoded()
    pipeline.build()
    pipeline.feed_input("whole", wholes)
    pipeline.feed_input("part", slices)
    whole, part = pipeline.run()
    for i, (top, left) in enumerate(places):
        got = np.asarray(part.at(i))[top : top + 90, left : left + 100]
        assert np.array_equal(got, np.asarray(whole.at(i))[30:120, 40:140]), files[i].name


def test_what_is_refused():
    with pytest.raises(ValueError, match="not those of a seekable JPEG"):
        jpeg_slice.slice_of(saved(), (0, 0, 1, 1))
    with pytest.raises(ValueError, match="not those of a seekable JPEG"):
        jpeg_slice.row_starts(saved(progressive=True))
    data = saved(restart_marker_rows=1)
    with pytest.raises(ValueError, match="does not lie inside"):
        jpeg_slice.slice_of(data, (95, 0, 2, 1))
    with pytest.raises(ValueError, match="window must be"):
        jpeg_slice.slice_of(data, (0, -1, 2, 1))
    with pytest.raises(ValueError, match="got 3"):
        jpeg_slice.slice_of(data, (0, 0, 2, 1), denominator=3)
    with pytest.raises(ValueError, match="end inside"):
        jpeg_slice.slice_of(data[:-2], (0, 0, 96, 1))
    broken = bytearray(data)
    broken[broken.index(b"\xff\xd2") + 1] = 0xD3
    with pytest.raises(ValueError, match="out of turn"):
        jpeg_slice.slice_of(broken, (0, 0, 96, 1))
