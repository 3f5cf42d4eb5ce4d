"""zstd frames unpacked in one call, against the zstandard package's two ways.

Tokens as int32 at level 3, with a dictionary trained on them and without; one core.
"""

import numpy as np
import pytest
import zstandard

from forebay.kernels.zstd import ZstdDictionary, decompress_frames, zstd_version

SIZES = [(296, 3000, True), (296, 3000, False), (2000, 1000, True), (8192, 128, False)]


@pytest.fixture(params=SIZES, ids=lambda s: f"{s[0]}B{'-dictionary' if s[2] else ''}")
def frames(request):
    size, count, trained = request.param
    generator = np.random.default_rng(0)
    tokens = (generator.pareto(1.0, size * count // 4) * 50).clip(0, 49_999).astype(np.int32)
    raw = tokens.tobytes()
    raws = [raw[i * size : (i + 1) * size] for i in range(count)]
    dictionary = zstandard.train_dictionary(50_000, raws) if trained else None
    packer = zstandard.ZstdCompressor(level=3, dict_data=dictionary)
    return [packer.compress(r) for r in raws], size, dictionary


def spans(frames):
    lengths = np.array([len(f) for f in frames], np.int64)
    return np.frombuffer(b"".join(frames), np.uint8), np.cumsum(lengths) - lengths, lengths


def report(benchmark, packed, size):
    seconds = benchmark.stats.stats.median
    benchmark.extra_info["MB/s"] = len(packed) * size / seconds / 1e6
    benchmark.extra_info["ns a frame"] = seconds / len(packed) * 1e9


@pytest.mark.skipif(not zstd_version(), reason="needs the system's libzstd")
def bench_native(benchmark, frames):
    packed, size, dictionary = frames
    data, begins, sizes = spans(packed)
    lengths = np.full(len(packed), size, np.int64)
    starts = np.arange(len(packed)) * size
    out = np.empty(len(packed) * size, np.uint8)
    ready = ZstdDictionary(dictionary.as_bytes()) if dictionary else None
    benchmark(lambda: decompress_frames(data, begins, sizes, out, starts, lengths, ready))
    report(benchmark, packed, size)


def bench_one_by_one(benchmark, frames):
    packed, size, dictionary = frames
    unpack = zstandard.ZstdDecompressor(dict_data=dictionary).decompress
    benchmark(lambda: [unpack(f) for f in packed])
    report(benchmark, packed, size)


def bench_multi_decompress_to_buffer(benchmark, frames):
    packed, size, dictionary = frames
    data, starts, lengths = spans(packed)
    segments = np.stack([starts, lengths], 1).astype("<u8").tobytes()
    buffers = zstandard.BufferWithSegments(data.tobytes(), segments)
    sizes = np.full(len(packed), size, "<u8").tobytes()
    unpacker = zstandard.ZstdDecompressor(dict_data=dictionary)
    benchmark(
        lambda: unpacker.multi_decompress_to_buffer(buffers, decompressed_sizes=sizes, threads=1)
    )
    report(benchmark, packed, size)
