"""Smaller JPEG files out of encoded images, for packing."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import PIL.Image
import PIL.ImageOps

from forebay.dataloader.decode.image.pillow import BROKEN, FORMATS
from forebay.formats.errors import SourceError


@dataclass(frozen=True, slots=True)
class Reencode:
    """Scales an image down until its short side has `short_side` pixels, and writes it as JPEG.

    Pixels are averaged over what they cover (bicubic with antialiasing), EXIF orientation is
    applied, and the ICC profile is kept. Smaller images keep their size. Greyscale stays grey;
    everything else becomes RGB, CMYK included (its profile is dropped then), and what is
    transparent is laid on white. The same bytes and versions of libraries give the same bytes.

    Args:
        short_side: pixels.
        quality: of the JPEG, 1 to 100.
    """

    short_side: int
    quality: int

    def __call__(self, data: bytes) -> bytes:
        """The bytes of the JPEG.

        Raises:
            SourceError: `data` does not decode as a whole image.
        """
        try:
            with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as image:
                return self._encode(image)
        except BROKEN as e:
            raise SourceError(f"not a whole image: {e}") from e

    def _encode(self, image: PIL.Image.Image) -> bytes:
        profile = image.info.get("icc_profile") if image.mode != "CMYK" else None
        upright = PIL.ImageOps.exif_transpose(image)
        flat = _flattened(upright)
        width, height = flat.size
        short = min(width, height)
        if short > self.short_side:
            scale = self.short_side / short
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            flat = flat.resize(size, PIL.Image.Resampling.BICUBIC)
        out = io.BytesIO()
        flat.save(out, "JPEG", quality=self.quality, icc_profile=profile)
        return out.getvalue()


def _flattened(image: PIL.Image.Image) -> PIL.Image.Image:
    """The image in RGB or grey, without transparency."""
    if image.mode in ("L", "RGB"):
        return image
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        over = image.convert("RGBA")
        white = PIL.Image.new("RGBA", over.size, (255, 255, 255, 255))
        return PIL.Image.alpha_composite(white, over).convert("RGB")
    if image.mode.startswith("I"):
        # Pillow would cut these 16 bits off at 255; of 32 none are known in files of photos.
        deep = np.asarray(image).clip(0, 65_535) // 257
        return PIL.Image.fromarray(deep.astype(np.uint8))
    return image.convert("L" if image.mode == "1" else "RGB")
