"""Steps of transforms as one resampling: a box of the image, scaled, of which a window is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay.dataloader.decode.transforms import Crop, Flip, Scale, Size, Step


@dataclass(frozen=True, slots=True)
class Framing:
    """What a sample is made of. Pixels of the upright image.

    Args:
        box: (top, left, height, width) of the image that is resampled.
        size: (height, width) that the box becomes.
        window: (top, left, height, width) of the resampled box that the sample shows; what of it
            lies outside becomes zeros.
        mirrored: whether the window is then mirrored left to right.
    """

    box: tuple[int, int, int, int]
    size: Size
    window: tuple[int, int, int, int]
    mirrored: bool

    def numbers(self) -> tuple[int, ...]:
        """As `forebay.kernels.jpeg_sample.FRAMING` lists them: the window without what is outside,
        and its place in the sample."""
        top, left, height, width = self.window
        first_row, last_row = max(top, 0), min(top + height, self.size[0])
        first, last = max(left, 0), min(left + width, self.size[1])
        rows, columns = max(0, last_row - first_row), max(0, last - first)
        if not rows or not columns:
            return (*self.box, *self.size, 0, 0, 0, 0, 0, 0, 0)
        down, right = first_row - top, first - left
        if self.mirrored:
            right = width - right - columns
        kept = (first_row, first, rows, columns)
        return (*self.box, *self.size, *kept, down, right, int(self.mirrored))


def framing_of(size: Size, steps: Sequence[Step]) -> Framing | None:
    """The framing that these steps are for an image of this size; None where they are no single
    one: they resample twice, or resample zeros that were added before."""
    box = (0, 0, *size)
    scaled = size
    window = (0, 0, *size)
    mirrored = resampled = False
    for step in steps:
        match step:
            case Crop():
                left = window[3] - step.left - step.width if mirrored else step.left
                window = (window[0] + step.top, window[1] + left, step.height, step.width)
            case Flip():
                mirrored = not mirrored
            case Scale():
                if resampled or not _inside(window, scaled):
                    return None
                box, resampled = window, True
                scaled = (step.height, step.width)
                window = (0, 0, *scaled)
    return Framing(box, scaled, window, mirrored)


def _inside(window: tuple[int, int, int, int], size: Size) -> bool:
    top, left, height, width = window
    return top >= 0 and left >= 0 and top + height <= size[0] and left + width <= size[1]
