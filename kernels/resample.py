"""Antialiased bilinear resampling fused with cut, mirroring, normalisation and store.

The face of the native kernel for tests and single images; batches are made by the native decoder.
Pixels are within one level of Pillow's `Image.resize(BILINEAR)`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from forebay.kernels import _native
from forebay.kernels.align import aligned_empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fill", "needed", "resample", "resample_portable"]

DType = Literal["uint8", "float32", "float16", "bfloat16"]
Layout = Literal["CHW", "HWC"]
Window = tuple[int, int, int, int]

# NumPy has no bfloat16: its bits lie in uint16.
_STORED: dict[str, Any] = {
    "uint8": np.uint8,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": np.uint16,
}
_local = threading.local()


def needed(in_size: int, out_size: int, offset: int, count: int) -> tuple[int, int]:
    """[first, last) of the source pixels that outputs [offset, offset + count) are made of, on one
    axis of `in_size` pixels resampled to `out_size`.

    Raises:
        ValueError: a size is not in [1, 2**20], or the outputs do not lie inside the axis.
    """
    return _native.needed(in_size, out_size, offset, count)


def resample(
    image: NDArray[np.uint8],
    size: tuple[int, int],
    *,
    window: Window | None = None,
    flip: bool = False,
    table: NDArray[np.float32] | None = None,
    dtype: DType = "uint8",
    layout: Layout = "HWC",
) -> NDArray[Any]:
    """Resamples an image and keeps a window of the result, without the GIL.

    Args:
        image: (h, w, c), c = 1 or 3; rows may lie apart, pixels in a row may not.
        size: (height, width) to resample to; that of the image copies it.
        window: (top, left, height, width) of the result to keep; all of it by default.
        flip: mirror the window left to right.
        table: (c, 256), the value of each byte; needed for every dtype but uint8, where it must
            be None. Halves are rounded from it to nearest, ties to even.
        dtype: of the values; bfloat16 is returned as its bits in uint16.
        layout: "HWC" gives (height, width, c), "CHW" (c, height, width).

    Returns:
        A new array, the caller's, aligned to 64 bytes.

    Raises:
        ValueError: shapes, sizes, window, table or dtype do not go together; says which.
        TypeError: `image` is not uint8 of three dimensions, or `table` not float32 of (c, 256).
    """
    resampler = getattr(_local, "resampler", None)
    if resampler is None:
        resampler = _local.resampler = _native.Resampler()
    out, corner = _out(image, size, window, dtype, layout)
    values = _native.ByteValues(dtype, table)
    resampler.run(image, values, size, corner, out, (0, 0), layout == "CHW", flip)
    return out


def resample_portable(
    image: NDArray[np.uint8],
    size: tuple[int, int],
    *,
    window: Window | None = None,
    flip: bool = False,
    table: NDArray[np.float32] | None = None,
    dtype: DType = "uint8",
    layout: Layout = "HWC",
) -> NDArray[Any]:
    """As `resample`, but without vector instructions, whatever the processor has: to test the two
    against each other."""
    out, corner = _out(image, size, window, dtype, layout)
    values = _native.ByteValues(dtype, table)
    resampler = _native.Resampler(portable=True)
    resampler.run(image, values, size, corner, out, (0, 0), layout == "CHW", flip)
    return out


def fill(
    out: NDArray[Any],
    *,
    table: NDArray[np.float32] | None = None,
    dtype: DType = "uint8",
    layout: Layout = "HWC",
) -> None:
    """Gives every value of `out` that of byte 0: what lies beside an image smaller than its place.

    Args:
        out: (height, width, c) or (c, height, width) by layout, contiguous, written in place.
        table: as for `resample`.
        dtype: of the values; bfloat16 lies in uint16.
        layout: of `out`.

    Raises:
        ValueError: as for `resample`.
    """
    _check(dtype, layout)
    _native.fill_values(_native.ByteValues(dtype, table), out, layout == "CHW")


def _out(
    image: NDArray[np.uint8],
    size: tuple[int, int],
    window: Window | None,
    dtype: DType,
    layout: Layout,
) -> tuple[NDArray[Any], Window]:
    _check(dtype, layout)
    if image.ndim != 3:
        raise ValueError(f"resample: image must be (h, w, c), got shape {image.shape}")
    window = (0, 0, *size) if window is None else window
    top, left, height, width = window
    if not (0 <= top < top + height <= size[0] and 0 <= left < left + width <= size[1]):
        raise ValueError(f"resample: window {window} does not lie inside size {size}")
    channels = image.shape[2]
    shape = (height, width, channels) if layout == "HWC" else (channels, height, width)
    stored = np.dtype(_STORED[dtype])
    out = aligned_empty(height * width * channels * stored.itemsize)
    return out.view(stored).reshape(shape), window


def _check(dtype: str, layout: str) -> None:
    if dtype not in _STORED:
        raise ValueError(f"resample: dtype must be one of {', '.join(_STORED)}, got {dtype!r}")
    if layout not in ("CHW", "HWC"):
        raise ValueError(f"resample: layout must be 'CHW' or 'HWC', got {layout!r}")
