"""Numbers of Arrow arrays as NumPy arrays, by their buffers.

Arrow's own conversions import pandas where it is installed: 0.3 s and 30 MB that nobody asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def dtype_of(kind: pa.DataType) -> np.dtype[Any]:
    """NumPy's dtype of a primitive Arrow type other than bool.

    Raises:
        TypeError: NumPy has none.
    """
    name = str(kind)
    return np.dtype(_DTYPES.get(name, name))


def numbers(array: pa.Array) -> NDArray[Any]:
    """(n,) the values of a primitive array other than bool, a view of its buffer.

    Where a value is null, whatever lies there.
    """
    buffer, dtype = array.buffers()[1], dtype_of(array.type)
    if buffer is None or not len(array):
        return np.zeros(len(array), dtype)
    # A buffer may end in padding that is no whole element.
    return np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)


def chunked_numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """(n,) the values of a column; a view where it is one chunk."""
    if column.num_chunks == 1:
        return numbers(column.chunk(0))
    empty = [np.empty(0, dtype_of(column.type))]
    return np.concatenate(empty + [numbers(c) for c in column.chunks])
