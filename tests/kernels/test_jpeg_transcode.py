from __future__ import annotations

import io
import struct
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, ImageFile

from forebay.kernels import jpeg_transcode
from forebay.kernels.jpeg_transcode import Transcoded, available, transcode

pytestmark = pytest.mark.skipif(not available(), reason="built without libjpeg-turbo's headers")

EXIF, ICC = 0xE1, 0xE2
# Pillow's buffer for progressive files is too small for noise at quality 100.
ImageFile.MAXBLOCK = 1 << 22


@dataclass(frozen=True)
class Parts:
    """A JPEG file taken apart, by rules of its own: segments, frame, scans."""

    segments: list[tuple[int, bytes]]
    process: int
    size: tuple[int, int]
    sampling: list[int]
    interval: int
    scans: list[list[bytes]]  # of each, the entropy-coded bytes between restart markers
    restarts: list[int]
    rest: bytes

    @property
    def mcus(self):
        """(in a row, rows) of an interleaved scan."""
        h = max(s >> 4 for s in self.sampling) if len(self.sampling) > 1 else 1
        v = max(s & 15 for s in self.sampling) if len(self.sampling) > 1 else 1
        return -(-self.size[0] // (8 * h)), -(-self.size[1] // (8 * v))

    def of(self, code):
        return [body for c, body in self.segments if c == code]


def _parts(data):
    assert data[:2] == b"\xff\xd8"
    at, segments, scans, restarts = 2, [], [], []
    process = interval = 0
    size, sampling = (0, 0), []
    while data[at + 1] != 0xD9:
        assert data[at] == 0xFF
        code, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        body = data[at + 4 : at + 2 + length]
        at += 2 + length
        segments.append((code, body))
        if 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC):
            process = code
            size = (int.from_bytes(body[3:5], "big"), int.from_bytes(body[1:3], "big"))
            sampling = [body[7 + 3 * i] for i in range(body[5])]
        elif code == 0xDD:
            interval = int.from_bytes(body, "big")
        elif code == 0xDA:
            runs, start = [], at
            while True:
                at = data.index(b"\xff", at)
                after = data[at + 1]
                if after and not 0xD0 <= after <= 0xD7:
                    break
                if after:
                    runs.append(data[start:at])
                    restarts.append(after - 0xD0)
                    start = at + 2
                at += 2
            runs.append(data[start:at])
            scans.append(runs)
    return Parts(segments, process, size, sampling, interval, scans, restarts, data[at + 2 :])


def _decode(data):
    image = Image.open(io.BytesIO(data), formats=["JPEG"])
    image.load()
    return image


def _check(original, done, max_interval=8):
    """What a reader of seekable JPEG relies on, and that the pixels are those of the original."""
    assert done.data is not None, (done.reason, done.detail)
    assert (done.reason, done.detail) == ("", "")
    parts = _parts(done.data)
    assert parts.process == 0xC0
    across, down = parts.mcus
    assert 1 <= parts.interval <= 16 * max_interval
    assert across % parts.interval == 0
    (runs,) = parts.scans
    assert len(runs) == down * (across // parts.interval)
    assert parts.restarts == [i % 8 for i in range(len(runs) - 1)]
    assert parts.rest == b""
    before, after = _decode(original), _decode(done.data)
    assert before.mode == after.mode
    assert before.size == after.size
    assert before.tobytes() == after.tobytes()
    return parts


def _pixels(seed, width, height, mode):
    """Waves in the left half, noise in the right."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    rng = np.random.default_rng(seed)
    y, x, b = np.mgrid[:height, :width, :bands]
    pixels = 128 + 100 * np.sin(x * 0.3 + y * 0.2 + b)
    pixels[:, width // 2 :] = rng.integers(0, 256, pixels[:, width // 2 :].shape)
    pixels = pixels.astype(np.uint8)
    if mode == "CMYK":
        return Image.frombytes(mode, (width, height), pixels.tobytes())
    return Image.fromarray(pixels[..., 0] if bands == 1 else pixels)


def _jpeg(seed=0, width=40, height=30, mode="RGB", **options):
    out = io.BytesIO()
    _pixels(seed, width, height, mode).save(out, "JPEG", **({"quality": 85} | options))
    return out.getvalue()


@pytest.mark.long
def test_a_thousand_photos_keep_their_pixels_and_their_size(shared_data):
    before = after = 0
    for path in sorted((shared_data / "imagenet-sample").iterdir()):
        data = path.read_bytes()
        done = transcode(data)
        _check(data, done)
        before += len(data)
        after += len(done.data)
    # Shown by pytest -s.
    print(f"seekable: {after} bytes of {before}, {after / before:.4f}")  # noqa: T201
    assert after <= 1.02 * before


# Fate of each odd file: the reason why it is kept, and a word of the detail.
ODD = {
    "arithmetic.jpg": ("", ""),
    "exif-dpi-zerodivision.jpg": ("", ""),
    "hopper.jpg": ("", ""),
    "hopper_16bit_qtables.jpg": ("quantisation", "265"),
    "hopper_gray.jpg": ("", ""),
    "hopper_orientation_2.jpg": ("", ""),
    "hopper_orientation_5.jpg": ("", ""),
    "hopper_orientation_6.jpg": ("", ""),
    "hopper_orientation_8.jpg": ("", ""),
    "invalid-exif.jpg": ("", ""),
    "jpeg_ff00_header.jpg": ("corrupt", "extraneous"),
    "junk_jpeg_header.jpg": ("corrupt", "extraneous"),
    "pil_sample_cmyk.jpg": ("", ""),
    "pil_sample_rgb.jpg": ("", ""),
    "truncated_jpeg.jpg": ("corrupt", "Premature end"),
    "hopper.png": ("not-jpeg", "FF D8"),
    "hopper.webp": ("not-jpeg", "FF D8"),
    "broken_data_stream.png": ("not-jpeg", "FF D8"),
    "truncated_image.png": ("not-jpeg", "FF D8"),
}


@pytest.mark.parametrize("keep_metadata", [False, True])
def test_odd_images(shared_data, keep_metadata):
    found = {p.name: p.read_bytes() for p in (shared_data / "odd-images").iterdir()}
    assert found.keys() == ODD.keys()
    for name, data in found.items():
        done = transcode(data, keep_metadata=keep_metadata)
        reason, word = ODD[name]
        assert done.reason == reason, (name, done)
        if reason:
            assert done.data is None
            assert word in done.detail
        else:
            _check(data, done)
            assert _orientation(done.data) == _orientation(data)


def _orientation(data):
    return _decode(data).getexif().get(0x0112, 1)


@settings(deadline=None, max_examples=300)
@given(
    seed=st.integers(0, 1 << 16),
    width=st.integers(1, 90) | st.sampled_from([1, 7, 8, 9, 15, 16, 17, 376, 8 * 131]),
    height=st.integers(1, 70) | st.sampled_from([1, 8, 16]),
    mode=st.sampled_from(["RGB", "L", "CMYK"]),
    subsampling=st.sampled_from(["4:2:0", "4:2:2", "4:4:4"]),
    progressive=st.booleans(),
    restart_blocks=st.sampled_from([0, 1, 3, 5]),
    quality=st.sampled_from([10, 75, 100]),
    max_interval=st.sampled_from([1, 2, 4, 8, 16, 65_535]),
)
def test_files_of_pillow(
    seed,
    width,
    height,
    mode,
    subsampling,
    progressive,
    restart_blocks,
    quality,
    max_interval,
):
    options = {"progressive": progressive, "quality": quality}
    options |= {"restart_marker_blocks": restart_blocks} if restart_blocks else {}
    options |= {} if mode == "L" else {"subsampling": subsampling}
    data = _jpeg(seed, width, height, mode, **options)
    done = transcode(data, max_interval=max_interval)
    if done.reason == "larger":
        # A marker after each MCU of a picture that is all grey may cost more than it is worth.
        assert "more than" in done.detail
        return
    parts = _check(data, done, max_interval)
    # A second time changes nothing more.
    assert transcode(done.data, max_interval=max_interval).data == done.data
    if max_interval >= parts.mcus[0]:
        assert parts.interval == parts.mcus[0]


def _with_sampling(data, factors):
    """The file as if its components had these sampling factors, 0x12 for 1x2."""
    at = data.index(b"\xff\xc0")
    new = bytearray(data)
    for i, factor in enumerate(factors):
        new[at + 11 + 3 * i] = factor
    return bytes(new)


@pytest.mark.parametrize("width", [40, 41])
def test_chroma_of_half_height(width):
    # Pillow writes no 4:4:0. Of 4:2:2, of as many MCUs, it is made by exchanging the factors: what
    # lies where is another picture then, and a whole one.
    wide = _jpeg(1, 8 * -(-width // 8) * 2, 16, subsampling="4:2:2")
    tall = bytearray(_with_sampling(wide, [0x12, 0x11, 0x11]))
    at = tall.index(b"\xff\xc0")
    tall[at + 5 : at + 9] = struct.pack(">HH", 32, 8 * -(-width // 8))
    _check(bytes(tall), transcode(bytes(tall)))


def test_grey_of_odd_sampling_factors():
    data = _with_sampling(_jpeg(2, 50, 20, "L"), [0x22])
    parts = _check(data, transcode(data))
    assert parts.sampling == [0x11]


@pytest.mark.parametrize(
    ("factors", "said"), [([0x31, 0x21, 0x11], "1 has 2x1"), ([0x22, 0x22, 0x22], "12 blocks")]
)
def test_sampling_that_baseline_or_decoders_lack(factors, said):
    done = transcode(_with_sampling(_jpeg(), factors))
    assert (done.reason, done.data) == ("sampling", None)
    assert said in done.detail


@pytest.mark.parametrize(
    ("code", "reason"), [(0xC3, "process"), (0xC5, "process"), (0xC9, ""), (0xCA, "")]
)
def test_other_processes(code, reason):
    data = _jpeg().replace(b"\xff\xc0", bytes([0xFF, code]), 1)
    done = transcode(data)
    # Arithmetic codes read as if they were are no picture, but whatever it is, it is the same.
    if reason:
        assert done.reason == reason
    elif done.data is not None:
        _check(data, done)


def test_twelve_bits():
    data = bytearray(_jpeg().replace(b"\xff\xc0", b"\xff\xc1", 1))
    data[data.index(b"\xff\xc1") + 4] = 12
    assert transcode(bytes(data)).reason == "precision"


def test_two_components():
    data = _jpeg(0, 40, 30, subsampling="4:4:4")
    at, scan = data.index(b"\xff\xc0"), data.index(b"\xff\xda")
    frame, head = bytearray(data[at : at + 16]), bytearray(data[scan : scan + 9])
    frame[3], frame[9] = 14, 2
    head[3], head[4] = 10, 2
    data = data[:at] + bytes(frame) + data[at + 19 : scan] + bytes(head) + data[scan + 11 :]
    assert transcode(data).reason == "components"


def test_larger():
    # One grey MCU after another takes 6 bits: two bytes of marker for each are too many.
    out = io.BytesIO()
    Image.new("L", (8 * 131, 400), 77).save(out, "JPEG", optimize=True)
    done = transcode(out.getvalue(), max_interval=1)
    assert (done.data, done.reason) == (None, "larger")


def test_sixteen_bit_tables_of_small_values():
    data = _jpeg(0, 40, 30, "L")
    at = data.index(b"\xff\xdb")
    values = data[at + 5 : at + 69]
    wide = b"\xff\xdb" + struct.pack(">HB", 131, 0x10) + b"".join(bytes([0, v]) for v in values)
    data = data[:at] + wide + data[at + 69 :]
    data = data.replace(b"\xff\xc0", b"\xff\xc1", 1)
    parts = _check(data, transcode(data))
    assert parts.of(0xDB) == [b"\0" + values]


def _sized(data, width, height):
    at = data.index(b"\xff\xc0")
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


@pytest.mark.parametrize(
    ("side", "reason"), [(65_500, "too-large"), (10_000, "corrupt"), (65_535, "too-large")]
)
def test_a_header_that_promises_too_much_allocates_nothing(side, reason):
    import resource

    data = _sized(_jpeg(), side, side)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert transcode(data).reason == reason
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10


def _profile():
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def test_metadata_that_stays_and_that_goes():
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a long story" * 9
    profile = _profile() * 40  # more than one segment holds
    data = _jpeg(3, exif=exif, icc_profile=profile, comment=b"hello", dpi=(72, 72))
    done = transcode(data)
    parts = _check(data, done)
    assert [c for c, _ in parts.segments if c >= 0xE0] == [
        0xE0,
        0xE1,
        *[0xE2] * len(parts.of(0xE2)),
    ]
    assert len(parts.of(EXIF)[0]) == 32
    image = _decode(done.data)
    assert dict(image.getexif()) == {0x0112: 6}
    assert image.info["icc_profile"] == profile
    assert image.info["dpi"] == (72, 72)
    kept = transcode(data, keep_metadata=True)
    assert [s for s in _check(data, kept).segments if s[0] >= 0xE0] == [
        s for s in _parts(data).segments if s[0] >= 0xE0
    ]


@pytest.mark.parametrize("order", ["II", "MM"])
@pytest.mark.parametrize("value", range(10))
def test_orientation_is_kept_where_there_is_one(order, value):
    short = "<" if order == "II" else ">"
    tiff = order.encode() + struct.pack(short + "HIH", 42, 8, 1)
    tiff += struct.pack(short + "HHIHHI", 0x0112, 3, 1, value, 0, 0)
    data = _jpeg(exif=b"Exif\0\0" + tiff)
    done = transcode(data)
    assert len(_parts(done.data).of(EXIF)) == (2 <= value <= 8)
    if value:
        assert _orientation(done.data) == (value if value <= 8 else 1)


def test_orientation_that_only_xmp_tells_becomes_exif():
    data = _jpeg(xmp=b'<x:xmpmeta><rdf:Description tiff:Orientation="8"/></x:xmpmeta>')
    done = transcode(data)
    assert _orientation(data) == _orientation(done.data) == 8
    assert b"xmpmeta" not in done.data


def test_exif_cut_anywhere():
    tiff = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, 3, 0, 0)
    for size in range(len(tiff)):
        data = _jpeg(0, 8, 8, exif=b"Exif\0\0" + tiff[:size])
        _check(data, transcode(data))


def _without(data, code):
    """The file without its segments of one code."""
    at = 2
    while data[at + 1] != 0xDA:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == code:
            data, end = data[:at] + data[end:], at
        at = end
    return data


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
@pytest.mark.parametrize("code", [0xE0, 0xEE])
def test_color_markers_are_neither_added_nor_lost(mode, code):
    data = _jpeg(4, mode=mode)
    for file in (data, _without(data, code)):
        parts = _check(file, transcode(file))
        assert parts.of(code) == _parts(file).of(code)


def test_rgb_stays_rgb():
    data = _jpeg(5, keep_rgb=True, subsampling=0)
    parts = _check(data, transcode(data))
    assert [c for c, _ in parts.segments if c in (0xE0, 0xEE)] == [
        c for c, _ in _parts(data).segments if c in (0xE0, 0xEE)
    ]


def test_thumbnail_of_jfif_goes():
    data = _jpeg(6)
    thumbnail = b"\xff\xe0" + struct.pack(">H", 16 + 12) + data[6:18] + b"\x02\x02" + bytes(12)
    data = data[:2] + thumbnail + data[20:]
    assert _check(data, transcode(data)).of(0xE0)[0] == data[6:18] + b"\0\0"
    kept = transcode(data, keep_metadata=True)
    assert _check(data, kept).of(0xE0) == _parts(data).of(0xE0)


def test_further_pictures_and_their_index_go():
    data = _jpeg(7)
    index = b"\xff\xe2" + struct.pack(">H", 10) + b"MPF\0abcd"
    several = data[:2] + index + data[2:] + _jpeg(8)
    for keep_metadata in (False, True):
        done = transcode(several, keep_metadata=keep_metadata)
        assert _check(data, done).of(ICC) == []


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("progressive", [False, True])
def test_no_byte_is_damaged_in_silence(mode, progressive):
    """Each byte of a small file changed: refused, or what Pillow sees is what it saw before."""
    data = _jpeg(9, 24, 20, mode, progressive=progressive, quality=60)
    rng = np.random.default_rng(0)
    transcoded = refused = 0
    for at in range(len(data)):
        for new in {data[at] ^ 1, data[at] ^ 0x80, int(rng.integers(0, 256)), 0xFF, 0} - {data[at]}:
            bad = data[:at] + bytes([new]) + data[at + 1 :]
            done = transcode(bad)
            if done.data is None:
                refused += 1
                assert done.reason
                assert done.detail
                continue
            transcoded += 1
            _check(bad, done)
    assert transcoded > 100
    assert refused > 100


def test_cut_anywhere_is_kept():
    for data in (_jpeg(10, 24, 20), _jpeg(10, 24, 20, progressive=True)):
        for size in range(len(data)):
            done = transcode(data[:size])
            assert done.data is None
            assert done.reason in ("not-jpeg", "corrupt")


def test_trailing_bytes_go():
    data = _jpeg(11)
    assert transcode(data + b"junk" * 100).data == transcode(data).data


def test_buffers_and_arguments():
    data = _jpeg(12)
    want = transcode(data)
    assert transcode(memoryview(data)) == want == transcode(np.frombuffer(data, np.uint8))
    for wrong in (0, -1, 65_536):
        with pytest.raises(ValueError, match=f"1 to 65535 MCUs, got {wrong}"):
            transcode(data, max_interval=wrong)
    with pytest.raises(TypeError):
        transcode("text")


def test_threads_share_nothing():
    files = [_jpeg(i, 40 + 8 * i, 200, progressive=bool(i % 2)) for i in range(8)]
    want = [transcode(f) for f in files]
    found: dict[int, list[Transcoded]] = {}

    def work(i):
        found[i] = [transcode(f) for f in files * 5]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[i] == want * 5 for i in range(4))


def test_without_the_native_part(monkeypatch):
    monkeypatch.setattr(jpeg_transcode, "_native", object())
    assert not available()
    with pytest.raises(RuntimeError, match="libjpeg62-turbo-dev"):
        transcode(b"")
