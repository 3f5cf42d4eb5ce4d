"""Bytes as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.formats.codecs.codec import ByteRuns, canonical, decompress_each


class NoCodec:
    """Keeps every byte; a reader may view it in place."""

    @property
    def config(self) -> str:
        return canonical({"id": "none"})

    def compress(self, data: bytes | memoryview) -> bytes:
        return bytes(data)

    def raw_size(self, data: memoryview) -> int:
        return len(data)

    def decompress_into(self, data: memoryview, out: NDArray[Any]) -> None:
        if len(data) != out.size:
            raise ValueError(f"have {len(data)} bytes where {out.size} were expected")
        out[:] = np.frombuffer(data, np.uint8)

    def decompress_many(self, frames: ByteRuns, out: ByteRuns) -> NDArray[np.int64]:
        return decompress_each(self, frames, out)
