"""What to make of an encoded field: frozen descriptions, checked where they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.transforms import (
    CenterCrop,
    Geometry,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    Size,
    Step,
)

Color = Literal["RGB", "L"]
Layout = Literal["CHW", "HWC", "channels_last"]
Dtype = Literal["uint8", "float32", "float16", "bfloat16"]
LAYOUTS = ("CHW", "HWC", "channels_last")
DTYPES = ("uint8", "float32", "float16", "bfloat16")
CHANNELS: dict[str, int] = {"RGB": 3, "L": 1}
GEOMETRIES = (Resize, CenterCrop, RandomResizedCrop, RandomHorizontalFlip)


class Image:
    """Decodes an image field into a tensor of one size.

    Args:
        transforms: in order, from `forebay.transforms`. Their result must have one size for every
            image, so that a batch is one tensor; `Normalize` comes last.
        color: "RGB", or "L" for one channel of luma.
        dtype: "uint8", "float32", "float16" or "bfloat16"; by default float32 with `Normalize`,
            else uint8. Fractions without `Normalize` are scaled to [0, 1]. The shorter ones are
            float32 rounded to the nearest, ties to even.
        layout: "CHW" gives batches (N, C, H, W), "HWC" gives (N, H, W, C), "channels_last" gives
            (N, C, H, W) in torch's memory format of that name.
        reduced: whether a part of a JPEG that is at least 2, 4 or 8 times as high and wide as what
            it is resampled to is decoded at that fraction of its size. Faster for large pictures
            made small; pixels are those of another, equally good filter, so they differ a little
            from those without.

    Raises:
        TypeError: something that is not one of our transforms.
        ValueError: sizes that depend on the image, or options that do not go together.
    """

    def __init__(
        self,
        *transforms: Geometry | Normalize,
        color: Color = "RGB",
        dtype: Dtype | None = None,
        layout: Layout = "CHW",
        reduced: bool = False,
    ) -> None:
        self.color, self.layout, self.reduced = color, layout, bool(reduced)
        self.geometries, self.normalize = _split(transforms)
        if color not in CHANNELS:
            raise ValueError(f"Image: color must be 'RGB' or 'L', got {color!r}")
        if layout not in LAYOUTS:
            raise ValueError(f"Image: layout must be one of {LAYOUTS}, got {layout!r}")
        self.dtype: Dtype = dtype or ("float32" if self.normalize else "uint8")
        if self.dtype not in DTYPES:
            raise ValueError(f"Image: dtype must be one of {DTYPES}, got {dtype!r}")
        if self.normalize and self.dtype == "uint8":
            raise ValueError("Image: Normalize gives fractions, which uint8 cannot hold")
        if self.normalize and len(self.normalize.mean) != self.channels:
            raise ValueError(
                f"Image: Normalize has {len(self.normalize.mean)} channels, color {color} has "
                f"{self.channels}"
            )
        self.size = self._size()

    @property
    def channels(self) -> int:
        return CHANNELS[self.color]

    @property
    def planar(self) -> bool:
        """Whether a sample lies channel after channel in memory."""
        return self.layout == "CHW"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of one sample, as it lies in memory."""
        h, w = self.size
        return (self.channels, h, w) if self.planar else (h, w, self.channels)

    @property
    def stored(self) -> str:
        """NumPy's name of the dtype that samples are stored in: it has no bfloat16."""
        return "uint16" if self.dtype == "bfloat16" else self.dtype

    @property
    def draws(self) -> int:
        """Uniform numbers that one sample needs."""
        return sum(g.draws for g in self.geometries)

    def steps(self, size: Size, u: Sequence[float]) -> list[Step]:
        """The concrete steps for an image of this size with these draws."""
        out: list[Step] = []
        used = 0
        for geometry in self.geometries:
            steps, size = geometry.steps(size, u[used : used + geometry.draws])
            used += geometry.draws
            out += steps
        return out

    def table(self) -> NDArray[np.float32] | None:
        """(channels, 256) float32: the value of each byte of each channel; None for uint8."""
        if self.dtype == "uint8":
            return None
        unit = np.arange(256, dtype=np.float64) / 255.0
        if self.normalize is None:
            return np.repeat(unit[None].astype(np.float32), self.channels, axis=0)
        mean, std = np.array(self.normalize.mean), np.array(self.normalize.std)
        table: NDArray[np.float32] = ((unit[None] - mean[:, None]) / std[:, None]).astype(
            np.float32
        )
        return table

    def stored_table(self) -> NDArray[Any] | None:
        """As `table`, in the dtype that samples are stored in."""
        table = self.table()
        if table is None or self.dtype != "bfloat16":
            return None if table is None else table.astype(self.dtype)
        # The upper half of a float32, rounded to the nearest, ties to even.
        bits = table.view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)

    def __repr__(self) -> str:
        parts = [repr(t) for t in (*self.geometries, *([self.normalize] if self.normalize else ()))]
        options = f"color={self.color!r}, dtype={self.dtype!r}, layout={self.layout!r}"
        options += ", reduced=True" if self.reduced else ""
        return f"Image({', '.join([*parts, options])})"

    def _size(self) -> Size:
        size: Size | None = None
        for geometry in self.geometries:
            size = geometry.fixed(size)
        if size is None:
            raise ValueError(
                "Image: the result's size depends on the image, so a batch cannot be one tensor; "
                "add Resize((height, width)), CenterCrop(size) or RandomResizedCrop(size)"
            )
        return size


def _split(
    transforms: Sequence[Geometry | Normalize],
) -> tuple[tuple[Geometry, ...], Normalize | None]:
    geometries: list[Geometry] = []
    normalize: Normalize | None = None
    for t in transforms:
        if normalize is not None:
            raise ValueError(f"Image: Normalize must come last, but {t!r} follows it")
        if isinstance(t, Normalize):
            normalize = t
        elif isinstance(t, GEOMETRIES):
            geometries.append(t)
        else:
            raise TypeError(f"Image: {t!r} is not a transform of forebay.transforms")
    return tuple(geometries), normalize
