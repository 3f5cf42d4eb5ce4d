"""A JPEG decoded at a part of its size: which part, and where a box lies in it.

The rule of native/core/jpeg/reduced.hpp, for decoders of other people.
"""

from __future__ import annotations

from forebay.dataloader.decode.framing import Rectangle
from forebay.dataloader.decode.transforms import Size

DENOMINATORS = (8, 4, 2)
"""Of libjpeg's scaled inverse transform."""

_TURNS = {
    1: (False, False, False),
    2: (False, False, True),
    3: (False, True, True),
    4: (False, True, False),
    5: (True, False, False),
    6: (True, True, False),
    7: (True, True, True),
    8: (True, False, True),
}
"""By orientation: whether axes are exchanged, and then counted from the bottom, from the right."""
_UNDONE = {6: 8, 8: 6}


def denominator_of(box: Rectangle, size: Size) -> int:
    """The largest part of the size at which the box still has the pixels that it is to become."""
    fitting = (d for d in DENOMINATORS if box[2] >= d * size[0] and box[3] >= d * size[1])
    return next(fitting, 1)


def reduced_box(
    box: Rectangle, denominator: int, orientation: int, stored: Size
) -> tuple[Rectangle, tuple[float, float, float, float]]:
    """The pixels of the reduced upright image that a box of the full one covers, and where in them
    it lies, (top, left, height, width).

    Args:
        box: of the upright image, inside it.
        stored: (height, width) of the full image as it is stored.
    """
    rows, columns = (-(-side // denominator) for side in stored)
    transposed, from_bottom, from_right = _TURNS[orientation]
    top, left, height, width = _stored(box, orientation, stored)
    first_row, high, down, tall = _covered(top, height, denominator, from_bottom)
    first_column, wide, right, broad = _covered(left, width, denominator, from_right)
    inside = (right, down, broad, tall) if transposed else (down, right, tall, broad)
    upright = (columns, rows) if transposed else (rows, columns)
    covered = (first_row, first_column, high, wide)
    return _stored(covered, _UNDONE.get(orientation, orientation), upright), inside


def _covered(
    first: int, count: int, denominator: int, turned: bool
) -> tuple[int, int, float, float]:
    begin, end = first / denominator, (first + count) / denominator
    start, stop = first // denominator, -(-(first + count) // denominator)
    return start, stop - start, stop - end if turned else begin - start, end - begin


def _stored(box: Rectangle, orientation: int, stored: Size) -> Rectangle:
    """Where a box of the upright image lies in the stored one."""
    transposed, from_bottom, from_right = _TURNS[orientation]
    top, left, height, width = box
    if transposed:
        top, left, height, width = left, top, width, height
    if from_bottom:
        top = stored[0] - top - height
    if from_right:
        left = stored[1] - left - width
    return top, left, height, width
