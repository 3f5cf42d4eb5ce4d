"""The reference image decoder: Pillow, exactly as its users know it."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from forebay.dataloader.decode.framing import Framing, framing_of
from forebay.dataloader.decode.image.decoder import Bad, Encoded
from forebay.dataloader.decode.reduced import denominator_of, reduced_box
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.decode.transforms import Crop, Flip, Scale, Step
from forebay.dataloader.flow.errors import DecodeError
from forebay.dataloader.flow.scratch import Scratch

# What Pillow's plugins raise on bytes that are no whole image; they have no common base.
BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    IndexError,
    KeyError,
    TypeError,
    ZeroDivisionError,
    OverflowError,
    NotImplementedError,
    PIL.Image.DecompressionBombError,
)
# Plugins that only decode: others run programs or follow files, as hostile bytes tell them to.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "JPEG2000", "AVIF", "PPM")
ORIENTATION = 0x0112
PIXEL_BYTES = 16
"""Bytes a pixel while an image decodes, at most: Pillow keeps 4 (RGB and CMYK alike), turning and
converting copy, and progressive JPEG and WebP hold up to as much again inside their decoders."""
SCALED_PIXELS = 1 << 22
"""A scaled image of more pixels is never made whole, only the part of it that is kept: a picture
of 3 x 65500 whose short side becomes 224 would take 4 GB."""
UPRIGHT = {
    2: PIL.Image.Transpose.FLIP_LEFT_RIGHT,
    3: PIL.Image.Transpose.ROTATE_180,
    4: PIL.Image.Transpose.FLIP_TOP_BOTTOM,
    5: PIL.Image.Transpose.TRANSPOSE,
    6: PIL.Image.Transpose.ROTATE_270,
    7: PIL.Image.Transpose.TRANSVERSE,
    8: PIL.Image.Transpose.ROTATE_90,
}


class PillowDecoder:
    """Decodes one image at a time. Safe in several threads. See `image.decoder.ImageDecoder`."""

    def __init__(self, spec: Image, scratch: Scratch) -> None:
        self._spec = spec
        self._scratch = scratch
        self._table = spec.stored_table()
        # Plugins register themselves on first use, which is not safe from several threads.
        PIL.Image.init()

    def decode(
        self,
        images: Encoded,
        u: Sequence[Sequence[float]],
        out: NDArray[Any],
        places: NDArray[np.int64],
    ) -> Bad:
        bad: Bad = {}
        for i, place in enumerate(places.tolist()):
            try:
                self._one(images[i], u[i], out[place])
            except DecodeError as e:
                bad[place] = e
        return bad

    def _one(self, data: memoryview, u: Sequence[float], out: NDArray[Any]) -> None:
        try:
            # The header is read, no pixel yet.
            with (
                PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image,
                self._scratch.lent(PIXEL_BYTES * image.width * image.height + len(data)),
            ):
                pixels = self._pixels(image, u)
        except PIL.UnidentifiedImageError as e:
            # Pillow's own words name an object in memory.
            raise DecodeError(
                f"image of {len(data)} bytes does not decode: it has no whole header of "
                f"{' or '.join(FORMATS)}"
            ) from e
        except BROKEN as e:
            raise DecodeError(f"image of {len(data)} bytes does not decode: {e}") from e
        self._store(pixels, out)

    def _pixels(self, image: PIL.Image.Image, u: Sequence[float]) -> NDArray[np.uint8]:
        if self._spec.reduced and image.format == "JPEG":
            reduced = self._reduced(image, u)
            if reduced is not None:
                return np.asarray(reduced)
        image.load()
        turned = UPRIGHT.get(_orientation(image))
        upright = image.transpose(turned) if turned is not None else image
        coloured = (
            upright if upright.mode == self._spec.color else upright.convert(self._spec.color)
        )
        size = (coloured.height, coloured.width)
        steps = self._spec.steps(size, u)
        framing = framing_of(size, steps)
        if framing is not None and framing.size[0] * framing.size[1] > SCALED_PIXELS:
            return np.asarray(framed(coloured, framing))
        return np.asarray(apply(coloured, steps))

    def _reduced(self, image: PIL.Image.Image, u: Sequence[float]) -> PIL.Image.Image | None:
        """The sample made of the image at a part of its size; None where that is the whole."""
        orientation = _orientation(image)
        orientation = orientation if orientation in UPRIGHT else 1
        stored = (image.height, image.width)
        upright = stored[::-1] if orientation >= 5 else stored
        framing = framing_of(upright, self._spec.steps(upright, u))
        if framing is None or (part := denominator_of(framing.box, framing.size)) == 1:
            return None
        image.draft(None, (image.width // part, image.height // part))
        image.load()
        turned = UPRIGHT.get(orientation)
        whole = image.transpose(turned) if turned is not None else image
        box, inside = reduced_box(framing.box, part, orientation, stored)
        return framed(whole.convert(self._spec.color), replace(framing, box=box), inside)

    def _store(self, pixels: NDArray[np.uint8], out: NDArray[Any]) -> None:
        planes = pixels[:, :, None] if pixels.ndim == 2 else pixels
        for c in range(self._spec.channels):
            target = out[c] if self._spec.planar else out[:, :, c]
            if self._table is None:
                target[:] = planes[:, :, c]
            else:
                np.take(self._table[c], planes[:, :, c], out=target)


def apply(image: PIL.Image.Image, steps: Sequence[Step]) -> PIL.Image.Image:
    """The image after these steps."""
    for step in steps:
        match step:
            case Crop():
                box = (step.left, step.top, step.left + step.width, step.top + step.height)
                image = image.crop(box)
            case Scale():
                size = (step.width, step.height)
                image = image.resize(size, PIL.Image.Resampling.BILINEAR)
            case Flip():
                image = image.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT)
    return image


def framed(
    image: PIL.Image.Image,
    framing: Framing,
    inside: tuple[float, float, float, float] | None = None,
) -> PIL.Image.Image:
    """The sample of this framing, within one level of its steps one by one; of the scaled box only
    what the sample shows is made.

    Args:
        inside: (top, left, height, width) in the box that is scaled; None: all of it.
    """
    top, left, height, width = framing.window
    sample = PIL.Image.new(image.mode, (width, height))
    first_row, first_column, rows, columns = framing.shown
    if rows > 0 and columns > 0:
        y, x, box_height, box_width = framing.box
        from_y, from_x, part_height, part_width = inside or (0, 0, box_height, box_width)
        down, right = part_height / framing.size[0], part_width / framing.size[1]
        part = (
            from_x + first_column * right,
            from_y + first_row * down,
            min(from_x + (first_column + columns) * right, box_width),
            min(from_y + (first_row + rows) * down, box_height),
        )
        box = image.crop((x, y, x + box_width, y + box_height))
        shown = box.resize((columns, rows), PIL.Image.Resampling.BILINEAR, box=part)
        sample.paste(shown, (first_column - left, first_row - top))
    return sample.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT) if framing.mirrored else sample


def _orientation(image: PIL.Image.Image) -> int:
    # Damaged EXIF says nothing about the pixels: such an image is as it lies.
    try:
        value = image.getexif().get(ORIENTATION, 1)
    except BROKEN:
        return 1
    return value if isinstance(value, int) else 1
