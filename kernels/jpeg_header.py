"""What the headers of many JPEGs say, in one call without the GIL and without libjpeg."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from typing_extensions import Buffer

__all__ = ["CODINGS", "FIELDS", "headers", "sentence"]

CODINGS = ("baseline", "extended", "progressive", "lossless", "hierarchical")
"""Coding processes of ITU T.81, by the number in the field `coding`."""

_NAMES = (
    "status",  # 0: the headers are whole and the rest holds; else see `sentence`
    "height",  # pixels, as stored: before the orientation is applied
    "width",
    "orientation",  # EXIF, 1 to 8; 1 where none is given
    "components",  # 1 to 4
    "precision",  # bits a sample
    "coding",  # index into CODINGS
    "arithmetic",  # 1: arithmetic coding in place of Huffman's
    "restart_interval",  # MCUs; 0: none
    "seekable",  # 1: headers of a seekable JPEG; its segments were not looked for
)
FIELDS = np.dtype([(name, np.int32) for name in _NAMES])


def headers(data: Sequence[Buffer]) -> NDArray[np.void]:
    """Parses the headers of N encoded images.

    Args:
        data: N buffers of contiguous bytes. Any bytes are allowed.

    Returns:
        A new (N,) structured array of `FIELDS`, the caller's. Where `status` is not 0 the other
        fields are 0.

    Raises:
        TypeError: something that is not a buffer.
        BufferError, ValueError: one that is not contiguous; which of the two is its exporter's.
    """
    out = np.empty((len(data), len(_NAMES)), np.int32)
    _native.jpeg_headers(list(data), out)
    return out.view(FIELDS).reshape(-1)


def sentence(status: int) -> str:
    """What a `status` says, for a person."""
    return _native.jpeg_header_sentence(status)
