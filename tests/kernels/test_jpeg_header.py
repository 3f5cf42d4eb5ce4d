"""The native header parser against Pillow, on real photos and made files."""

import io

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels import _native, jpeg_header

pytestmark = pytest.mark.skipif(
    not hasattr(_native, "jpeg_headers"), reason="built without libjpeg-turbo's headers"
)


def saved(size=(40, 24), mode="RGB", **options):
    out = io.BytesIO()
    PIL.Image.new(mode, size).save(out, "JPEG", **options)
    return out.getvalue()


def pillows_orientation(image):
    value = image.getexif().get(0x0112, 1)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def test_photos(shared_data):
    files = sorted((shared_data / "imagenet-sample").iterdir())
    got = jpeg_header.headers([f.read_bytes() for f in files])
    assert got["status"].tolist() == [0] * len(files)
    for file, header in zip(files, got, strict=True):
        with PIL.Image.open(file) as image:
            assert (header["width"], header["height"]) == image.size, file.name
            assert header["components"] == len(image.getbands()), file.name
            assert header["orientation"] == pillows_orientation(image), file.name
            coding = jpeg_header.CODINGS[header["coding"]]
            assert (coding == "progressive") == ("progressive" in image.info), file.name


def test_odd_images(shared_data):
    files = sorted((shared_data / "odd-images").iterdir())
    got = dict(
        zip(
            (f.name for f in files),
            jpeg_header.headers([f.read_bytes() for f in files]),
            strict=True,
        )
    )
    assert {n for n, h in got.items() if h["status"]} == {
        n for n in got if n.endswith((".png", ".webp"))
    }
    for turn in (2, 5, 6, 8):
        assert got[f"hopper_orientation_{turn}.jpg"]["orientation"] == turn
    assert got["arithmetic.jpg"]["arithmetic"] == 1
    assert got["pil_sample_cmyk.jpg"]["components"] == 4
    assert got["junk_jpeg_header.jpg"]["height"] == 768
    assert jpeg_header.CODINGS[got["truncated_jpeg.jpg"]["coding"]] == "progressive"


@pytest.mark.parametrize("orientation", range(10))
@pytest.mark.parametrize("kind", ["short", "long", "byte", "xmp"])
def test_orientation_is_pillows(orientation, kind):
    if kind == "xmp":
        packet = f'<x:xmpmeta tiff:Orientation="{orientation}"/>'.encode()
        data = saved(xmp=packet)
    else:
        size, code = {"short": (2, 3), "long": (4, 4), "byte": (1, 1)}[kind]
        entry = b"\x01\x12" + bytes([0, code]) + b"\0\0\0\x01"
        value = orientation.to_bytes(size, "big").ljust(4, b"\0")
        data = saved(exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + entry + value + bytes(4))
    with PIL.Image.open(io.BytesIO(data)) as image:
        want = pillows_orientation(image)
    assert jpeg_header.headers([data])["orientation"].tolist() == [want]


@given(st.lists(st.binary(max_size=80) | st.just(saved()), max_size=8))
def test_each_value_is_parsed_alone(values):
    got = jpeg_header.headers(values)
    for value, header in zip(values, got, strict=True):
        alone = jpeg_header.headers([value])[0]
        assert header.tobytes() == alone.tobytes()
        assert (header["status"] == 0) == (value == saved())
        assert jpeg_header.sentence(header["status"])


def test_seekable_by_the_headers_alone():
    plain, rows = saved(), saved(restart_marker_rows=1)
    uneven = saved(restart_marker_blocks=2)  # of three MCUs a row
    got = jpeg_header.headers([plain, rows, uneven])
    assert got["seekable"].tolist() == [0, 1, 0]
    assert got["restart_interval"].tolist() == [0, 3, 2]


def test_what_is_refused():
    with pytest.raises(TypeError):
        jpeg_header.headers([saved(), "text"])
    with pytest.raises((BufferError, ValueError)):
        jpeg_header.headers([np.frombuffer(saved(), np.uint8)[::2]])
    with pytest.raises(ValueError, match="one size"):
        _native.jpeg_headers([saved()], np.empty((2, 10), np.int32))
    assert jpeg_header.headers([]).shape == (0,)
    view = np.frombuffer(b"before" + saved() + b"after", np.uint8)[6:-5]
    assert jpeg_header.headers([view.data])["width"] == 40
