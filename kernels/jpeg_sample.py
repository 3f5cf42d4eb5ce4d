"""Encoded JPEGs to finished samples of a batch: one call, without the GIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from typing_extensions import Buffer

__all__ = ["FRAMING", "LARGEST_SIDE", "BadSample", "JpegSampler", "available"]

FRAMING = 13
"""Numbers of a framing: of the upright image the box (top, left, height, width); the (height,
width) that it is resampled to; of that the window (top, left, height, width) that is kept; where
in the sample it goes (top, left); 1 to mirror it. What it leaves free gets byte 0's value."""

LARGEST_SIDE = 1 << 20
"""The largest height or width that a box may be resampled to; kLargestSide of the core."""

# DecodeStatus of native/core/jpeg/decode.hpp.
_KINDS: dict[int, Literal["damaged", "other", "memory"]] = {
    1: "other",  # no JPEG
    2: "damaged",
    3: "other",  # a JPEG of an unsupported kind
    4: "damaged",  # the window is outside, so the image is not of the size that was announced
    5: "memory",
    6: "memory",
}


class BadSample(NamedTuple):
    """An image that could not be made.

    Args:
        number: of it in the call.
        kind: "damaged"; "other" where another decoder may know the encoding; "memory" where it
            takes more than allowed, or there is none.
        message: a sentence.
    """

    number: int
    kind: Literal["damaged", "other", "memory"]
    message: str


def available() -> bool:
    """Whether native JPEG was built: libjpeg-turbo's headers were there."""
    return hasattr(_native, "JpegSamples")


class JpegSampler:
    """Makes samples of one field: decodes only what the sample is made of, turns it upright,
    resamples it antialiased, mirrors, converts and stores. Safe in several threads at once.

    Args:
        size: (height, width) of a sample.
        table: (1 or 3, 256) float32, the value of each byte of each channel; None with uint8.
        dtype: of the values; bfloat16 lies in uint16.
        planar: whether samples are (channels, height, width), else (height, width, channels).
        luma: one channel instead of RGB.
        reduced: whether a box of at least 2, 4 or 8 times what it is resampled to is decoded at
            that part of its size.

    Raises:
        ValueError: what does not go together.
    """

    def __init__(
        self,
        size: tuple[int, int],
        table: NDArray[np.float32] | None,
        dtype: Literal["uint8", "float32", "float16", "bfloat16"],
        *,
        planar: bool,
        luma: bool,
        reduced: bool = False,
    ) -> None:
        values = _native.ByteValues(dtype, table)
        self._native = _native.JpegSamples(values, *size, planar, luma, reduced)

    def working(self, data: Sequence[Buffer], framings: NDArray[np.int32]) -> int:
        """Bytes that `make` holds at most beside the data and `out`: those of the image that takes
        most. Nothing is decoded; what cannot be decoded takes none.

        Raises:
            ValueError: sizes differ.
        """
        return self._native.working(list(data), framings)

    def make(
        self,
        data: Sequence[Buffer],
        framings: NDArray[np.int32],
        places: NDArray[np.int64],
        out: NDArray[Any],
    ) -> list[BadSample]:
        """Writes sample i to out[places[i]].

        Args:
            data: n encoded images, upright or not.
            framings: (n, FRAMING).
            places: (n,).
            out: (N, *shape of a sample) of the dtype, C-contiguous, the caller's.

        Returns:
            What could not be made; its rows of `out` hold anything.

        Raises:
            ValueError: sizes differ, or a place is no row of `out`.
        """
        rows = out.reshape(len(out), -1).view(np.uint8)
        bad = self._native.make(list(data), framings, places, rows)
        return [BadSample(number, _KINDS[status], message) for number, status, message in bad]
