"""Zstandard (RFC 8878), alone or with a trained dictionary."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from forebay.formats.codecs.codec import ByteRuns, canonical, decompress_each
from forebay.kernels.zstd import ZstdDictionary, decompress_frames, zstd_version

LEVELS = range(1, 20)


class ZstdCodec:
    """Each buffer is one frame with its content size and without zstd's own checksum.

    Args:
        level: 1 (fast) to 19 (small).
        dictionary: a trained dictionary's bytes, or b"".
        dictionary_file: the name under which the dataset keeps it.
    """

    def __init__(self, level: int = 3, dictionary: bytes = b"", dictionary_file: str = "") -> None:
        if level not in LEVELS:
            raise ValueError(f"zstd level must be 1 to 19, got {level}")
        self.level = level
        self.dictionary = dictionary
        self.dictionary_file = dictionary_file
        self._local = threading.local()
        self._prepared: ZstdDictionary | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.level, self.dictionary, self.dictionary_file)

    @property
    def config(self) -> str:
        named = {"dictionary": self.dictionary_file} if self.dictionary_file else {}
        return canonical({"id": "zstd", "level": self.level, **named})

    def compress(self, data: bytes | memoryview) -> bytes:
        compressor = getattr(self._local, "compressor", None)
        if compressor is None:
            # The dictionary's id stays in the frame, so a wrong dictionary is refused, not misread.
            compressor = zstandard.ZstdCompressor(
                level=self.level, dict_data=self._dict(), write_content_size=True
            )
            self._local.compressor = compressor
        return bytes(compressor.compress(data))

    def raw_size(self, data: memoryview) -> int:
        try:
            size = zstandard.frame_content_size(data)
        except zstandard.ZstdError as e:
            raise ValueError(f"not a whole zstd frame: {e}") from e
        if size < 0:
            raise ValueError("the zstd frame does not say its content size")
        return int(size)

    def decompress_into(self, data: memoryview, out: NDArray[Any]) -> None:
        decompressor = getattr(self._local, "decompressor", None)
        if decompressor is None:
            decompressor = zstandard.ZstdDecompressor(dict_data=self._dict())
            self._local.decompressor = decompressor
        # Checked before allocation: a damaged frame may claim any size.
        size = self.raw_size(data)
        if size != out.size:
            raise ValueError(f"frame holds {size} bytes where {out.size} were expected")
        try:
            raw = decompressor.decompress(data, max_output_size=out.size)
        except zstandard.ZstdError as e:
            raise ValueError(f"not a whole zstd frame: {e}") from e
        if len(raw) != out.size:
            raise ValueError(f"have {len(raw)} bytes where {out.size} were expected")
        out[:] = np.frombuffer(raw, np.uint8)

    def decompress_many(self, frames: ByteRuns, out: ByteRuns) -> NDArray[np.int64]:
        # Without the system's library each frame takes a call, and a copy of what it holds.
        if not zstd_version():
            return decompress_each(self, frames, out)
        if self.dictionary and self._prepared is None:
            try:
                self._prepared = ZstdDictionary(self.dictionary)
            except ValueError:
                return decompress_each(self, frames, out)
        bad = decompress_frames(
            frames.data, frames.starts, frames.lengths,
            out.data, out.starts, out.lengths, self._prepared,
        )  # fmt: skip
        return np.empty(0, np.int64) if bad is None else np.flatnonzero(bad)

    def _dict(self) -> zstandard.ZstdCompressionDict | None:
        return zstandard.ZstdCompressionDict(self.dictionary) if self.dictionary else None


def train_dictionary(samples: Sequence[bytes], size: int = 112_640) -> bytes:
    """A dictionary trained on samples, or b"" where they are too few or too small to gain.

    The same samples give the same bytes: zstd's trainer is deterministic on one thread.
    """
    total = sum(map(len, samples))
    if len(samples) < 64 or total < 16 * 1024:
        return b""
    try:
        trained = zstandard.train_dictionary(min(size, max(1024, total // 10)), list(samples))
    except zstandard.ZstdError:
        return b""
    return bytes(trained.as_bytes())
