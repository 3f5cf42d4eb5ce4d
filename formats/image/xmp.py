"""The orientation in an XMP packet, which some writers give instead of EXIF."""

from __future__ import annotations

import re

# As an attribute or as an element of XML. Pillow searches the text so, and no parser sees it.
_ORIENTATION = re.compile(rb'tiff:Orientation(?:="|>)([0-9])')


def orientation(packet: bytes | memoryview) -> int:
    """Orientation, 1 to 8; 1 where it says none or a wrong one.

    Args:
        packet: (n,) bytes of XML; any bytes are allowed.
    """
    found = _ORIENTATION.search(packet)
    value = int(found[1]) if found is not None else 1
    return value if 1 <= value <= 8 else 1
