"""Codecs: how bytes at rest are compressed. One file a codec; an id keeps its meaning for ever.

A codec's configuration is canonical JSON such as `{"id":"zstd","level":3}`, kept in the shard
table, from which `codec_of` builds the codec again.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forebay.formats.errors import NewerFormatError


class ByteRuns(Protocol):
    """Runs of bytes in one buffer: run i is `lengths[i]` bytes of `data` from `starts[i]` on."""

    @property
    def data(self) -> NDArray[np.uint8]:
        """(n,) uint8."""
        ...

    @property
    def starts(self) -> NDArray[np.int64]:
        """(runs,) in bytes."""
        ...

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(runs,) in bytes."""
        ...


class Codec(Protocol):
    """Compresses one buffer to one buffer. Safe to call from several threads."""

    @property
    def config(self) -> str:
        """Canonical JSON that `codec_of` builds this codec from."""
        ...

    def compress(self, data: bytes | memoryview) -> bytes:
        """The compressed bytes; the same for the same data and configuration."""
        ...

    def raw_size(self, data: memoryview) -> int:
        """The raw size that compressed bytes claim; nothing is allocated for it.

        Raises:
            ValueError: they claim none.
        """
        ...

    def decompress_into(self, data: memoryview, out: NDArray[Any]) -> None:
        """Fills `out` ((n,) uint8, exactly the raw size) from compressed bytes.

        Raises:
            ValueError: the bytes are not a compressed buffer of exactly that raw size.
        """
        ...

    def decompress_many(self, frames: ByteRuns, out: ByteRuns) -> NDArray[np.int64]:
        """Decompresses each of `frames` into its place in `out`, which has exactly its raw size.

        Returns:
            The numbers, ascending, of those that are not compressed buffers of that raw size; what
            their places hold is unspecified. Frames of no bytes with places of none are left out.
        """
        ...


def decompress_each(codec: Codec, frames: ByteRuns, out: ByteRuns) -> NDArray[np.int64]:
    """`Codec.decompress_many` by one call of `decompress_into` for each."""
    view = frames.data.data
    spans = zip(
        frames.starts.tolist(),
        frames.lengths.tolist(),
        out.starts.tolist(),
        out.lengths.tolist(),
        strict=True,
    )
    failed: list[int] = []
    for i, (a, n, b, m) in enumerate(spans):
        if not n and not m:
            continue
        try:
            codec.decompress_into(view[a : a + n], out.data[b : b + m])
        except ValueError:
            failed.append(i)
    return np.array(failed, np.int64)


def canonical(config: dict[str, Any]) -> str:
    """The one way to write a configuration."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"))


def codec_of(config: str, dictionaries: dict[str, bytes] | None = None) -> Codec:
    """The codec of a configuration.

    Args:
        dictionaries: contents of the dictionary files that configurations name.

    Raises:
        NewerFormatError: the id is not known to this version.
    """
    from forebay.formats.codecs.none import NoCodec
    from forebay.formats.codecs.zstd import ZstdCodec

    parsed = json.loads(config)
    match parsed.get("id"):
        case "none":
            return NoCodec()
        case "zstd":
            name = parsed.get("dictionary")
            data = (dictionaries or {})[name] if name else b""
            return ZstdCodec(
                level=int(parsed["level"]), dictionary=data, dictionary_file=name or ""
            )
    raise NewerFormatError(
        f"codec {parsed.get('id')!r} is unknown to this version, which knows none and zstd; "
        "upgrade forebay"
    )
