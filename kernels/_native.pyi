"""The compiled kernels: thin, strict, and without the GIL; `forebay.kernels.crc` is their face."""

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

def crc32c(buffer: Buffer, value: int = 0) -> int:
    """CRC-32C of the bytes of a C-contiguous buffer, continuing from `value` (< 2**32).

    Raises:
        TypeError: `buffer` is not a buffer, or `value` does not fit.
        BufferError, ValueError: `buffer` is not C-contiguous; which of the two is its exporter's.
    """

def crc32c_portable(buffer: Buffer, value: int = 0) -> int:
    """As `crc32c`, by tables alone, whatever the processor has."""

def crc32c_ranges(
    buffer: Buffer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> None:
    """Writes the CRC-32C of bytes [starts[i], starts[i] + lengths[i]) of `buffer` to `out[i]`.

    All of `starts`, `lengths` and `out` are contiguous (K,); `out` is the caller's.

    Raises:
        IndexError: a range does not lie inside `buffer`; names it, and `out` is untouched.
        ValueError: the three sizes differ.
    """

def crc32c_backend() -> str:
    """What `crc32c` runs on here: "sse4.2", "armv8" or "portable"."""

# Only where the build found libjpeg-turbo's headers.
def jpeg_transcode(
    buffer: Buffer, max_interval: int, keep_metadata: bool
) -> tuple[bytes | None, str, str]:
    """(seekable JPEG, "", ""), or (None, reason, detail) where the original is to be kept.

    Raises:
        ValueError: `max_interval` is 0.
        TypeError: `buffer` is not a buffer, or `max_interval` does not fit 32 bits.
        BufferError, ValueError: `buffer` is not C-contiguous; which of the two is its exporter's.
    """
