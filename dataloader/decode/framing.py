"""Steps of transforms as one resampling: a box of the image, scaled, of which a window is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forebay.dataloader.decode.transforms import Crop, Flip, Scale, Size, Step

Rectangle = tuple[int, int, int, int]
"""(top, left, height, width) in pixels; height or width below 1 is nothing."""


@dataclass(frozen=True, slots=True)
class Framing:
    """What a sample is made of. Pixels of the upright image.

    Args:
        box: of the image, that is resampled.
        size: (height, width) that the box becomes.
        window: of the resampled box, that the sample is.
        shown: of the resampled box, what the window shows; the rest of the window is zeros.
        mirrored: whether the window is then mirrored left to right.
    """

    box: Rectangle
    size: Size
    window: Rectangle
    shown: Rectangle
    mirrored: bool

    def numbers(self) -> tuple[int, ...]:
        """As `forebay.kernels.jpeg_sample.FRAMING` lists them."""
        top, left, rows, columns = self.shown
        if rows < 1 or columns < 1:
            return (*self.box, *self.size, 0, 0, 0, 0, 0, 0, 0)
        down, right = top - self.window[0], left - self.window[1]
        if self.mirrored:
            right = self.window[3] - right - columns
        return (*self.box, *self.size, *self.shown, down, right, int(self.mirrored))


def framing_of(size: Size, steps: Sequence[Step]) -> Framing | None:
    """The framing that these steps are for an image of this size; None where they are no single
    one: they resample twice, or resample zeros that were added before."""
    box: Rectangle = (0, 0, *size)
    scaled = size
    window = shown = box
    mirrored = resampled = False
    for step in steps:
        match step:
            case Crop():
                left = window[3] - step.left - step.width if mirrored else step.left
                window = (window[0] + step.top, window[1] + left, step.height, step.width)
                # What an earlier crop cut off stays away when a later one is larger.
                shown = _common(shown, window)
            case Flip():
                mirrored = not mirrored
            case Scale():
                if resampled or shown != window:
                    return None
                box, resampled = window, True
                scaled = (step.height, step.width)
                window = shown = (0, 0, *scaled)
    return Framing(box, scaled, window, shown, mirrored)


def _common(a: Rectangle, b: Rectangle) -> Rectangle:
    top, left = max(a[0], b[0]), max(a[1], b[1])
    return top, left, min(a[0] + a[2], b[0] + b[2]) - top, min(a[1] + a[3], b[1] + b[3]) - left
