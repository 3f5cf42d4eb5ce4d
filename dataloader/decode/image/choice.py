"""Which image decoder a run uses."""

from __future__ import annotations

from forebay.dataloader.decode.image.decoder import ImageDecoder
from forebay.dataloader.decode.image.native import NativeDecoder
from forebay.dataloader.decode.image.pillow import PillowDecoder
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.flow.scratch import Scratch
from forebay.kernels.jpeg_sample import available


def image_decoder(spec: Image, scratch: Scratch) -> ImageDecoder:
    """The native decoder where it was built, else Pillow's: slower, within one level of it."""
    return NativeDecoder(spec, scratch) if available() else PillowDecoder(spec, scratch)
