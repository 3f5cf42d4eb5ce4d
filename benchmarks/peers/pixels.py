"""The images task done by hand, for peers that leave decoding to the user.

The window is drawn as torchvision's RandomResizedCrop draws it: area 0.08 to 1, ratio 3/4 to 4/3.
Pillow resamples with antialiasing, as forebay does; OpenCV's bilinear does not, which is the
faster and the usual choice with it.
"""

from __future__ import annotations

import io
import math
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZE = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
TRIES = 10


def window(height: int, width: int) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a random window."""
    for _ in range(TRIES):
        area = height * width * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    side = min(height, width)
    return (height - side) // 2, (width - side) // 2, side, side


def with_pillow(data: bytes, variant: str) -> NDArray[Any]:
    """Pillow, whole decode: (3, 224, 224) float32 normalised, or (224, 224, 3) uint8."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as file:
        image = file.convert("RGB")
    top, left, h, w = window(image.height, image.width)
    box = (left, top, left + w, top + h)
    image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box)
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return finished(np.asarray(image), variant)


def with_opencv(data: bytes, variant: str) -> NDArray[Any]:
    """Simplejpeg (libjpeg-turbo, whole decode) and OpenCV; the shapes of `with_pillow`."""
    import cv2
    import simplejpeg

    _one_thread()
    # 23 of the thousand photos are greyscale; the decoder widens them to RGB by itself.
    image = simplejpeg.decode_jpeg(data, "RGB")
    top, left, h, w = window(*image.shape[:2])
    part = image[top : top + h, left : left + w]
    small = cv2.resize(part, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    if random.random() < 0.5:
        small = cv2.flip(small, 1)
    return finished(small, variant)


@cache
def _one_thread() -> None:
    """OpenCV's own threads only get in the way of the loader's."""
    import cv2

    cv2.setNumThreads(0)


def finished(image: NDArray[np.uint8], variant: str) -> NDArray[Any]:
    """(224, 224, 3) uint8 as it is, or (3, 224, 224) float32 normalised, one channel at a time."""
    if variant == "uint8":
        return np.ascontiguousarray(image)
    out = np.empty((3, SIZE, SIZE), np.float32)
    for c in range(3):
        np.multiply(image[:, :, c], np.float32(1 / (255 * STD[c])), out=out[c], dtype=np.float32)
        out[c] -= np.float32(MEAN[c] / STD[c])
    return out
