"""Batches of bytes to numbers by a table, for pixels that need no decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from forebay.kernels.align import aligned_empty
from forebay.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["normalise"]

Layout = Literal["CHW", "HWC"]


def normalise(
    images: NDArray[np.uint8],
    table: NDArray[np.float32],
    *,
    layout: Layout = "CHW",
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """table[c, images[..., c]], without the GIL.

    Args:
        images: (n, h, w, c) uint8, C-contiguous.
        table: (c, 256) float32, the value of each byte of each channel.
        layout: "CHW" gives (n, c, h, w), "HWC" (n, h, w, c).
        out: of that shape, C-contiguous, the caller's; a new array aligned to 64 bytes by default.

    Returns:
        `out`.

    Raises:
        ValueError: shapes, dtypes or layouts do not go together.
    """
    if images.ndim != 4 or images.dtype != np.uint8 or not images.flags.c_contiguous:
        raise ValueError(
            "normalise: images must be C-contiguous uint8 (n, h, w, c), got "
            f"{images.dtype} {images.shape}"
        )
    n, height, width, channels = images.shape
    if table.shape != (channels, 256) or table.dtype != np.float32:
        raise ValueError(
            f"normalise: table must be float32 ({channels}, 256), got {table.dtype} {table.shape}"
        )
    if layout not in ("CHW", "HWC"):
        raise ValueError(f"normalise: layout must be 'CHW' or 'HWC', got {layout!r}")
    planar = layout == "CHW"
    shape = (n, channels, height, width) if planar else images.shape
    if out is None:
        out = aligned_empty(4 * images.size).view(np.float32).reshape(shape)
    if out.shape != shape or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError(
            f"normalise: out must be C-contiguous float32 {shape}, got {out.dtype} {out.shape}"
        )
    if not out.flags.writeable:
        raise ValueError("normalise: out must be writable")
    pixels = images.reshape(n, height * width, channels)
    values = np.ascontiguousarray(table)
    if planar:
        _planar(pixels, values, out.reshape(n, channels, height * width))
    else:
        _interleaved(pixels, values, out.reshape(n, height * width, channels))
    return out


_TYPE = (
    "void(Array(uint8, 3, 'C', readonly=True), Array(float32, 2, 'C', readonly=True), "
    "float32[:, :, ::1])"
)


# Three channels are written out in one pass over the pixels; other numbers take one each.
@compiled(_TYPE)
def _planar(
    pixels: NDArray[np.uint8], table: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    n, count, channels = pixels.shape
    for i in range(n):
        if channels == 3:
            for j in range(count):
                out[i, 0, j] = table[0, pixels[i, j, 0]]
                out[i, 1, j] = table[1, pixels[i, j, 1]]
                out[i, 2, j] = table[2, pixels[i, j, 2]]
            continue
        for c in range(channels):
            for j in range(count):
                out[i, c, j] = table[c, pixels[i, j, c]]


@compiled(_TYPE)
def _interleaved(
    pixels: NDArray[np.uint8], table: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    n, count, channels = pixels.shape
    for i in range(n):
        if channels == 3:
            for j in range(count):
                out[i, j, 0] = table[0, pixels[i, j, 0]]
                out[i, j, 1] = table[1, pixels[i, j, 1]]
                out[i, j, 2] = table[2, pixels[i, j, 2]]
            continue
        for j in range(count):
            for c in range(channels):
                out[i, j, c] = table[c, pixels[i, j, c]]
