"""Small JPEG files out of encoded images, for looking at."""

from __future__ import annotations

import io

import PIL.Image

from forebay.dataloader.decode.image.pillow import BROKEN, UPRIGHT
from forebay.dataloader.flow.errors import DecodeError
from forebay.formats.image.header import probe

SIDE = 160
MAX_PIXELS = 1 << 26
_QUALITY = 80
# What `probe` knows. Other plugins of Pillow run programs or follow files, on bytes that nobody
# has looked at yet.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")


def thumbnail(data: bytes, side: int = SIDE) -> bytes:
    """A JPEG of an image, upright, in a square of `side` pixels; transparency becomes white.

    Args:
        data: the bytes of a JPEG, PNG, WebP, GIF, BMP or TIFF file; of several frames the first.

    Raises:
        DecodeError: the bytes are not a whole image, or one of more than 2^26 pixels, for which
            memory is not spent on a thumbnail.
    """
    info = probe(data)
    if info is None:
        raise DecodeError(f"{len(data)} bytes are no image of a known encoding")
    try:
        with PIL.Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            # The decoder of JPEG scales while it decodes: that saves most of time and memory.
            image.draft(None, (2 * side, 2 * side))
            if image.width * image.height > MAX_PIXELS:
                raise DecodeError(
                    f"{info.height} x {info.width} pixels are more than the {MAX_PIXELS} that a "
                    "thumbnail is made of"
                )
            small = _opaque(image)
            small.thumbnail((side, side), PIL.Image.Resampling.BILINEAR)
            return _saved(small, info.orientation)
    except BROKEN as e:
        raise DecodeError(f"image of {len(data)} bytes does not decode: {e}") from e


def _opaque(image: PIL.Image.Image) -> PIL.Image.Image:
    """The image in RGB, laid on white where it is transparent."""
    if image.mode.startswith("I;16"):
        # Sixteen bits are cut to the upper eight; Pillow's own conversion would clip instead.
        return image.convert("I").point(lambda v: v * (1 / 256)).convert("L").convert("RGB")
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        over = image.convert("RGBA")
        white = PIL.Image.new("RGBA", over.size, (255, 255, 255, 255))
        return PIL.Image.alpha_composite(white, over).convert("RGB")
    # A copy, since the caller scales it in place.
    return image.copy() if image.mode == "RGB" else image.convert("RGB")


def _saved(image: PIL.Image.Image, orientation: int) -> bytes:
    turned = UPRIGHT.get(orientation)
    upright = image.transpose(turned) if turned is not None else image
    out = io.BytesIO()
    # Out of the pixels alone: profiles and comments of the original stay behind.
    PIL.Image.frombytes("RGB", upright.size, upright.tobytes()).save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
