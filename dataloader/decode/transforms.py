"""Image transforms as descriptions; what they draw becomes concrete steps before a pixel is read.

Names, defaults and distributions are torchvision v2's. A transform never touches pixels: it says,
for an image of a given size and the uniform numbers drawn for its sample, which `Step`s to take.
So every backend takes the same windows and flips, and resume repeats them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

Size = tuple[int, int]
"""(height, width) in pixels."""

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""(mean, std) of ImageNet's RGB values in [0, 1], as torchvision's reference training uses them."""


@dataclass(frozen=True, slots=True)
class Crop:
    """Keep this window; what of it lies outside the image becomes zeros. Pixels."""

    top: int
    left: int
    height: int
    width: int


@dataclass(frozen=True, slots=True)
class Scale:
    """Resample to this size: bilinear, antialiased, with Pillow's support and rounding."""

    height: int
    width: int


@dataclass(frozen=True, slots=True)
class Flip:
    """Mirror left to right."""


Step = Crop | Scale | Flip


class Geometry(Protocol):
    """A transform of where pixels come from."""

    @property
    def draws(self) -> int:
        """How many uniform numbers in [0, 1) one sample needs."""
        ...

    def steps(self, size: Size, u: Sequence[float]) -> tuple[list[Step], Size]:
        """The steps for an image of this size, and the size that they lead to."""
        ...

    def fixed(self, size: Size | None) -> Size | None:
        """The size that comes out, where it does not depend on the image; None where it does."""
        ...


def _pair(size: object, what: str) -> Size:
    pair = (size, size) if isinstance(size, int) else size
    match pair:
        case [int(height), int(width)] if height > 0 and width > 0 and not isinstance(size, bool):
            return height, width
    raise ValueError(f"{what}: size must be an int or (height, width) above 0, got {size!r}")


def _numbers(values: Iterable[float], what: str) -> tuple[float, ...]:
    try:
        found = tuple(map(float, values))
    except (TypeError, ValueError):
        found = (math.nan,)
    if not all(map(math.isfinite, found)):
        raise ValueError(f"{what} must be finite numbers such as (0.5, 1.0), got {values!r}")
    return found


def _span(values: Iterable[float], what: str) -> tuple[float, float]:
    match _numbers(values, what):
        case [least, greatest] if 0 < least <= greatest:
            return least, greatest
    raise ValueError(f"{what} must be (least, greatest) with 0 < least <= greatest, got {values!r}")


class Resize:
    """Resample to (height, width), or the short side to an int, keeping the aspect ratio."""

    draws = 0

    def __init__(self, size: int | Sequence[int]) -> None:
        pair = _pair(size, "Resize")
        self.size = size if isinstance(size, int) else pair

    def steps(self, size: Size, u: Sequence[float]) -> tuple[list[Step], Size]:
        if isinstance(self.size, tuple):
            target = self.size
        else:
            short, long = min(size), max(size)
            new = self.size, int(self.size * long / short)
            target = new if size[0] <= size[1] else (new[1], new[0])
        return ([] if target == size else [Scale(*target)]), target

    def fixed(self, size: Size | None) -> Size | None:
        if isinstance(self.size, tuple):
            return self.size
        return None if size is None else self.steps(size, ())[1]

    def __repr__(self) -> str:
        return f"Resize({self.size})"


class CenterCrop:
    """Keep the middle (height, width); smaller images are padded with zeros."""

    draws = 0

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _pair(size, "CenterCrop")

    def steps(self, size: Size, u: Sequence[float]) -> tuple[list[Step], Size]:
        top, left = (_centre(have, want) for have, want in zip(size, self.size, strict=True))
        return [Crop(top, left, *self.size)], self.size

    def fixed(self, size: Size | None) -> Size | None:
        return self.size

    def __repr__(self) -> str:
        return f"CenterCrop({self.size})"


def _centre(have: int, want: int) -> int:
    return -((want - have) // 2) if want > have else round((have - want) / 2.0)


class RandomResizedCrop:
    """A window of random area and aspect ratio, resampled to (height, width).

    Args:
        size: of the result.
        scale: least and greatest share of the image's area.
        ratio: least and greatest width / height, drawn evenly on a log scale.
    """

    TRIES = 10
    draws = 2 * TRIES + 2

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
    ) -> None:
        self.size = _pair(size, "RandomResizedCrop")
        self.scale = _span(scale, "RandomResizedCrop: scale")
        self.ratio = _span(ratio, "RandomResizedCrop: ratio")

    def steps(self, size: Size, u: Sequence[float]) -> tuple[list[Step], Size]:
        return [self._window(size, u), Scale(*self.size)], self.size

    def _window(self, size: Size, u: Sequence[float]) -> Crop:
        height, width = size
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        for i in range(self.TRIES):
            area = height * width * (self.scale[0] + (self.scale[1] - self.scale[0]) * u[2 * i])
            aspect = math.exp(low + (high - low) * u[2 * i + 1])
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < w <= width and 0 < h <= height:
                top = int(u[-2] * (height - h + 1))
                return Crop(top, int(u[-1] * (width - w + 1)), h, w)
        # No window fitted: the middle, as wide or high as the ratio allows.
        if width / height < self.ratio[0]:
            w, h = width, round(width / self.ratio[0])
        elif width / height > self.ratio[1]:
            w, h = round(height * self.ratio[1]), height
        else:
            w, h = width, height
        return Crop((height - h) // 2, (width - w) // 2, h, w)

    def fixed(self, size: Size | None) -> Size | None:
        return self.size

    def __repr__(self) -> str:
        return f"RandomResizedCrop({self.size}, scale={self.scale}, ratio={self.ratio})"


class RandomHorizontalFlip:
    """Mirror left to right with probability p."""

    draws = 1

    def __init__(self, p: float = 0.5) -> None:
        if not isinstance(p, int | float) or not 0.0 <= p <= 1.0:
            raise ValueError(f"RandomHorizontalFlip: p must be in [0, 1], got {p!r}")
        self.p = p

    def steps(self, size: Size, u: Sequence[float]) -> tuple[list[Step], Size]:
        return ([Flip()] if u[0] < self.p else []), size

    def fixed(self, size: Size | None) -> Size | None:
        return size

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip({self.p})"


class Normalize:
    """(x / 255 - mean) / std for each channel; the result is floating point."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean = _numbers(mean, "Normalize: mean")
        self.std = _numbers(std, "Normalize: std")
        if len(self.mean) != len(self.std) or not self.mean:
            raise ValueError(f"Normalize: mean and std differ in length: {mean!r}, {std!r}")
        if not all(s > 0 for s in self.std):
            raise ValueError(f"Normalize: std must be above 0, got {std!r}")

    def __repr__(self) -> str:
        return f"Normalize({self.mean}, {self.std})"
