"""Seekable JPEG: a JPEG written again without loss, so that parts of it can be decoded alone.

`formats/jpeg/SPEC.md` says what the result is like, and when an original is kept instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.kernels import _native

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["MAX_INTERVAL", "Transcoded", "available", "transcode"]

MAX_INTERVAL = 8


@dataclass(frozen=True, slots=True)
class Transcoded:
    """What became of a JPEG.

    Args:
        data: the seekable JPEG; None where the original is to be kept.
        reason: one word that says why it is to be kept, such as "corrupt"; the page lists them.
            "" where there is `data`.
        detail: the same for people, with what was found.
    """

    data: bytes | None
    reason: str = ""
    detail: str = ""


def available() -> bool:
    """Whether this installation was built with libjpeg-turbo's headers, which `transcode` needs."""
    return hasattr(_native, "jpeg_transcode")


def transcode(
    data: Buffer, *, max_interval: int = MAX_INTERVAL, keep_metadata: bool = False
) -> Transcoded:
    """A JPEG file's seekable form, with the same coefficients and so the same pixels.

    The result is read back and compared before it is returned. The GIL is released meanwhile.
    Takes up to twice 2 bytes for each coefficient (6 bytes for each pixel at 4:2:0), and the
    result; never more than 1 GiB and 1.125 times `data`.

    Args:
        data: (n,) bytes of a file, contiguous; any bytes are allowed, and they are not kept.
        max_interval: MCUs between restart markers, at most, where the width has a fitting divisor.
        keep_metadata: keep every APPn and COM segment before the first scan, and not only those
            that decoding needs, the ICC profile and the orientation.

    Raises:
        ValueError: `max_interval` is not 1 to 65,535.
        TypeError: `data` is not a buffer.
        BufferError, ValueError: `data` is not C-contiguous; which of the two is its exporter's.
        RuntimeError: native JPEG support was not built; see `available`.
    """
    if not 1 <= max_interval <= 65_535:
        raise ValueError(f"max_interval must be 1 to 65535 MCUs, got {max_interval}")
    if not available():
        raise RuntimeError(
            "forebay was built without native JPEG support: install libjpeg-turbo's headers "
            "(Debian: libjpeg62-turbo-dev) and build it again"
        )
    return Transcoded(*_native.jpeg_transcode(data, max_interval, keep_metadata))
