"""Sizes as people write them: "128MiB", "1GB", 4096."""

from __future__ import annotations

import re

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", 1):
    _UNITS[f"{_letter}B"] = 10 ** (3 * _power)
    _UNITS[f"{_letter}iB".upper()] = 1 << (10 * _power)

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")


def parse_size(size: int | str, name: str = "size") -> int:
    """Bytes that a size stands for, at least 1: GB = 10^9, GiB = 2^30, no unit is bytes.

    Args:
        size: a number of bytes, or a number and a unit.
        name: what the size is of, for the message.

    Raises:
        ValueError: it is not understood, below 1, or above 2^62.
    """
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        unit = _UNITS.get(match[2].upper()) if match else None
        if match is None or unit is None:
            raise ValueError(
                f"{name} {size!r} is not a size: write a number and a unit, such as 64MiB "
                "(2^20 bytes each), 1GB (10^9 bytes) or 4096"
            )
        whole = "." not in match[1]
        size = int(match[1]) * unit if whole else round(float(match[1]) * unit)
    if isinstance(size, bool) or not isinstance(size, int):
        raise ValueError(f"{name} must be a number of bytes or such as '64MiB', got {size!r}")
    if not 1 <= size <= 1 << 62:
        raise ValueError(f"{name} must be at least 1 byte and at most 2^62, got {size}")
    return size
