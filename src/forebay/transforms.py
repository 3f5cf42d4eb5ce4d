"""Image transforms, with names, defaults and distributions as in torchvision v2; and padding.

The numbers drawn differ from torchvision's: they are a function of (seed, epoch, position) alone.
"""

from forebay.dataloader.decode.pad import Pad
from forebay.dataloader.decode.transforms import (
    IMAGENET,
    CenterCrop,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
)

__all__ = [
    "IMAGENET",
    "CenterCrop",
    "Normalize",
    "Pad",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
]
