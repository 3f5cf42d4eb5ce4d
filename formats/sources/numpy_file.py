"""Arrays in files: `.npy` and bare `.bin`, mapped, never unpickled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.errors import SourceError
from forebay.formats.sources.listing import unreadable

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A file that holds one array.

    Args:
        dtype: of a `.bin` file's elements; "" for `.npy`, which says so itself.
        shape: of the array.
        size: bytes of the file when it was looked at.
    """

    path: Path
    dtype: str
    shape: tuple[int, ...]
    size: int

    def open(self) -> NDArray[Any]:
        """The array, mapped from the file.

        Raises:
            SourceError: the file is gone, or was changed.
        """
        array = _map(self.path, self.dtype)
        if array.shape != self.shape:
            raise SourceError(
                f"{self.path} changed while it was packed: it had shape {self.shape}, now "
                f"{array.shape}; pack again"
            )
        return array


def open_array(path: Path, dtype: str | None) -> tuple[ArrayFile, NDArray[Any]]:
    """The array of a file and how to find it again.

    Args:
        path: of the file.
        dtype: of the elements, if it is a `.bin` file.

    Raises:
        SourceError: it cannot be read, or holds something else than numbers or booleans.
    """
    name = ""
    if path.suffix.lower() == ".bin":
        if dtype is None:
            raise SourceError(
                f"{path} does not say what its elements are: give --dtype, such as --dtype uint16"
            )
        name = np.dtype(dtype).name
    array = _map(path, name)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise SourceError(
            f"{path} holds {array.dtype}, which cannot be packed: save it as booleans, integers, "
            "or floats of 16 to 64 bits"
        )
    if array.ndim == 0:
        raise SourceError(f"{path} holds a single number: save an array of one or more dimensions")
    return ArrayFile(path, name, array.shape, path.stat().st_size), array


def _map(path: Path, dtype: str) -> NDArray[Any]:
    try:
        if not dtype:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return array
        size, step = path.stat().st_size, np.dtype(dtype).itemsize
        if size % step:
            raise SourceError(
                f"{path} has {size} bytes, not a multiple of the {step} of {dtype}: "
                "it is cut short, or --dtype is wrong"
            )
        return np.memmap(path, dtype, "r") if size else np.empty(0, dtype)
    except OSError as e:
        raise unreadable(path, e, " as an array") from e
    except (ValueError, EOFError) as e:
        if isinstance(e, SourceError):
            raise
        raise SourceError(f"cannot read {path} as an array: {e}; save it again") from e
