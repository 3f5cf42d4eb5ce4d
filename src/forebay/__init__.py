"""forebay: a data-loading engine for PyTorch that keeps accelerators at a steady head of samples.

Names load on first use, so that `import forebay` costs no more than this file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forebay import errors as errors
    from forebay import transforms as transforms
    from forebay.dataloader.decode.spec import Image as Image
    from forebay.dataloader.flow.info import BatchInfo as BatchInfo
    from forebay.dataloader.flow.sample_rng import sample_rng as sample_rng
    from forebay.dataloader.loader import DataLoader as DataLoader
    from forebay.dataloader.mixture import mix as mix
    from forebay.formats.dataset import open_dataset as open_dataset
    from forebay.formats.writer import ShardWriter as ShardWriter
    from forebay.formats.writer import write_dataset as write_dataset

__version__ = "0.1.0"

__all__ = [
    "BatchInfo",
    "DataLoader",
    "Image",
    "ShardWriter",
    "errors",
    "mix",
    "open_dataset",
    "sample_rng",
    "transforms",
    "write_dataset",
]

_HOMES = {
    "BatchInfo": "forebay.dataloader.flow.info",
    "DataLoader": "forebay.dataloader.loader",
    "Image": "forebay.dataloader.decode.spec",
    "ShardWriter": "forebay.formats.writer",
    "mix": "forebay.dataloader.mixture",
    "open_dataset": "forebay.formats.dataset",
    "sample_rng": "forebay.dataloader.flow.sample_rng",
    "write_dataset": "forebay.formats.writer",
}


def __getattr__(name: str) -> object:
    if name in ("errors", "transforms"):
        return import_module(f"forebay.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'forebay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
