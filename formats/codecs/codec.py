"""Codecs: how bytes at rest are compressed. One file a codec; an id keeps its meaning for ever.

A codec's configuration is canonical JSON such as `{"id":"zstd","level":3}`, kept in the shard
table, from which `codec_of` builds the codec again.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from numpy.typing import NDArray

from forebay.formats.errors import NewerFormatError


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
