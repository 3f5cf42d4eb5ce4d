"""Frames through the system's libzstd against the zstandard package."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from forebay.kernels.zstd import ZstdDictionary, decompress_frames, zstd_version

pytestmark = pytest.mark.skipif(not zstd_version(), reason="needs the system's libzstd")

SAMPLES = [f"record {i}: the same words in another order {i % 7}".encode() for i in range(2000)]


def laid(frames):
    lengths = np.array([len(f) for f in frames], np.int64)
    return np.frombuffer(b"".join(frames), np.uint8), np.cumsum(lengths) - lengths, lengths


def unpacked(frames, sizes, dictionary=None):
    lengths = np.array(sizes, np.int64)
    starts = np.cumsum(lengths) - lengths
    out = np.full(int(lengths.sum()), 255, np.uint8)
    bad = decompress_frames(*laid(frames), out, starts, lengths, dictionary)
    wrong = [] if bad is None else np.flatnonzero(bad).tolist()
    return wrong, [out[a : a + n].tobytes() for a, n in zip(starts, lengths, strict=True)]


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_frames_come_back(raws):
    pack = zstandard.ZstdCompressor(level=3).compress
    wrong, got = unpacked([pack(r) for r in raws], [len(r) for r in raws])
    assert wrong == []
    assert got == raws


def test_with_a_dictionary():
    trained = zstandard.train_dictionary(4096, SAMPLES)
    pack = zstandard.ZstdCompressor(level=3, dict_data=trained).compress
    frames, sizes = [pack(s) for s in SAMPLES], [len(s) for s in SAMPLES]
    wrong, got = unpacked(frames, sizes, ZstdDictionary(trained.as_bytes()))
    assert (wrong, got) == ([], SAMPLES)
    wrong, _ = unpacked(frames, sizes)
    assert len(wrong) == len(SAMPLES)  # the frames name their dictionary


def test_what_is_not_one_frame_of_its_size_is_bad_and_the_others_are_not():
    pack = zstandard.ZstdCompressor(level=3).compress
    good = pack(b"abc" * 50)
    unsized = zstandard.ZstdCompressor(level=3, write_content_size=False).compress(b"abc" * 50)
    torn = good[:-2]
    junk = b"not a frame at all"
    frames = [good, torn, good + b"x", good + good, junk, unsized, b"", good, b"", good]
    sizes = [150, 150, 150, 150, 150, 150, 5, 149, 0, 150]
    wrong, got = unpacked(frames, sizes)
    assert wrong == [1, 2, 3, 4, 5, 6, 7]
    assert got[0] == got[9] == b"abc" * 50


@given(st.integers(0, 200), st.integers(0, 255))
def test_damaged_frames_stay_inside_their_places(at, value):
    raw = bytes(range(256)) * 2
    frame = bytearray(zstandard.ZstdCompressor(level=3).compress(raw))
    frame[at % len(frame)] = value
    out = np.full(len(raw) + 64, 7, np.uint8)
    decompress_frames(
        *laid([bytes(frame)]), out, np.array([32]), np.array([len(raw)])
    )  # whether it is bad is zstd's to say
    assert (out[:32] == 7).all()
    assert (out[-32:] == 7).all()


def test_bounds_and_sizes_are_checked():
    data, out = np.zeros(10, np.uint8), np.zeros(10, np.uint8)
    one = np.array([5])
    for starts, places, says in ((8, 0, r"frame 0 .* data"), (0, 8, r"frame 0 .* out")):
        with pytest.raises(IndexError, match=says):
            decompress_frames(data, np.array([starts]), one, out, np.array([places]), one)
    with pytest.raises(ValueError, match="one size"):
        decompress_frames(data, one, one, out, one, np.array([1, 2]))


def test_threads_each_have_their_own_state():
    pack = zstandard.ZstdCompressor(level=3).compress
    raws = [bytes([i]) * 5000 for i in range(50)]
    frames, sizes = [pack(r) for r in raws], [len(r) for r in raws]
    results = []

    def work():
        results.extend(unpacked(frames, sizes)[1] == raws for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True] * 80
