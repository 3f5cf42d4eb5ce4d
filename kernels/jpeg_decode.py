"""Pixels of a window of a JPEG, by the native decoder; bit for bit those of Pillow."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal

from forebay.kernels import _native

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Buffer

__all__ = ["DamagedJpeg", "UnsupportedJpeg", "available", "decode"]

# DecodeStatus of native/core/jpeg/decode.hpp.
_NOT_JPEG, _DAMAGED, _UNSUPPORTED, _OUTSIDE, _TOO_LARGE, _NO_MEMORY = range(1, 7)
_WHOLE = (0, 0, 0, 0)


class DamagedJpeg(ValueError):
    """The bytes are not a whole JPEG."""


class UnsupportedJpeg(ValueError):
    """A JPEG of a kind that is not decoded here (CMYK, arithmetic, 12 bits, ...): Pillow may."""


def available() -> bool:
    """Whether this installation was built with libjpeg-turbo's headers, which decoding needs."""
    return hasattr(_native, "JpegDecoder")


class _Decoders(threading.local):
    """One decoder a thread, which keeps its memory for the next image."""

    def __init__(self) -> None:
        self.decoder = _native.JpegDecoder()


_decoders = _Decoders()


def decode(
    data: Buffer,
    window: tuple[int, int, int, int] | None = None,
    *,
    color: Literal["RGB", "L"] = "RGB",
    denominator: int = 1,
    row_starts: NDArray[np.uint32] | None = None,
    entropy: Literal["own", "libjpeg"] = "own",
) -> NDArray[np.uint8]:
    """Decodes a window of a JPEG; the GIL is released while it runs.

    Args:
        data: The encoded image, seekable or not.
        window: (top, left, height, width) in pixels of the image as stored, before its orientation
            is applied, and at 1/`denominator` of its size (rounded up); None: all of it.
        color: "RGB", or "L" for luma: a greyscale image's own, or Pillow's of RGB.
        denominator: 1, 2, 4 or 8.
        row_starts: (rows of MCUs,) uint32 as `jpeg_slice.row_starts` gives them, for large images.
            Ignored when of another size, or when they do not fit the data.
        entropy: who reads Huffman codes: for tests; the pixels are the same.

    Returns:
        A new (height, width, channels) uint8 array, the caller's.

    Raises:
        DamagedJpeg: `data` is not a whole JPEG: truncated, or damaged in what was read of it.
        UnsupportedJpeg: a JPEG of a kind that is not decoded here.
        ValueError: the window is not inside the image, or an option is not one of those above.
        MemoryError: decoding takes more than 1 GiB, or there is no memory.
    """
    if color not in ("RGB", "L"):
        raise ValueError(f"color must be 'RGB' or 'L', got {color!r}")
    if entropy not in ("own", "libjpeg"):
        raise ValueError(f"entropy must be 'own' or 'libjpeg', got {entropy!r}")
    if denominator not in (1, 2, 4, 8):
        raise ValueError(f"denominator must be 1, 2, 4 or 8, got {denominator}")
    if window is not None and not (min(window) >= 0 < min(window[2:]) and max(window) <= 0xFFFF):
        raise ValueError(f"window must be (top, left, height, width) in pixels, got {window}")
    status, message, pixels = _decoders.decoder.decode(
        data, window or _WHOLE, color == "L", denominator, entropy == "libjpeg", row_starts
    )
    if pixels is None:
        raise _error(status, message, window)
    return pixels


def _error(status: int, message: str, window: tuple[int, int, int, int] | None) -> Exception:
    if status in (_NOT_JPEG, _DAMAGED):
        return DamagedJpeg(message)
    if status == _UNSUPPORTED:
        return UnsupportedJpeg(message)
    if status == _OUTSIDE:
        return ValueError(f"{message}: {window}")
    return MemoryError(message)
