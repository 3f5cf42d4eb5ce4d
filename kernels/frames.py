"""Records in dmlc frames: checked against their CRCs, joined, and found, in one native walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay.kernels import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CHECKSUM", "FRAMING", "SIZE", "open_frames"]

CHECKSUM, FRAMING, SIZE = 1, 2, 3
"""Faults of a record: its CRC-32C differs; its parts are not framed as they must be; its payload
has another size than expected."""


def open_frames(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    crcs: NDArray[np.uint32] | None = None,
    sizes: NDArray[np.uint32] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8] | None]:
    """Where the payloads of framed records lie in their buffer; runs without the GIL.

    Records of several parts are joined in place once all of them was checked, so `data` must be the
    caller's own and no two records may overlap. Records whose checksum or framing is wrong are left
    as they were.

    Args:
        data: (n,) uint8, contiguous and writable.
        starts: (K,) of the records, in bytes; multiples of 4.
        lengths: (K,) of the framed records, in bytes; multiples of 4, at least 8.
        crcs: (K,) uint32, the CRC-32C expected of each framed record, or None: not checked.
        sizes: (K,) uint32, the bytes expected of each payload, or None: not checked.

    Returns:
        (K,) starts and (K,) lengths of the payloads, int64, and (K,) uint8 faults (0, CHECKSUM,
        FRAMING or SIZE: the first that applies), or None where no record has one. The length of a
        payload is its own where the fault is SIZE, and 0 with the others.

    Raises:
        IndexError: a record does not lie inside `data` as said above; names the first.
        ValueError: the sizes differ.
        TypeError: an array is not of its dtype, or not contiguous.
    """
    count = len(starts)
    spans = np.empty(2 * count, np.int64)
    faults = np.empty(count, np.uint8)
    bad = _native.open_frames(data, starts, lengths, crcs, sizes, spans, faults)
    return spans[:count], spans[count:], faults if bad else None
