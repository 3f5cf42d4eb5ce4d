"""From a Python value to what a field stores: one check a kind, each with an error that names it.

A conversion is taken where it cannot lose the value: an integer that fits, a list of numbers, any
object that turns into a NumPy array. Everything else is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from forebay.formats.record import Field


def encoder_of(field: Field) -> Callable[[Any], Any]:
    """The function that turns a value that is not None into what a column of `field` holds.

    It gives bytes for images, bytes and text; a scalar or an array of the field's dtype and shape
    for fixed fields; a 1-D array of its dtype for ragged ones. It raises SchemaError, saying what
    was expected and what was got.
    """
    match field.kind:
        case "image" | "bytes":
            return _bytes
        case "text":
            return _text
        case "fixed":
            return lambda value: _fixed(field, value)
        case "ragged":
            return lambda value: _ragged(field, value)
    raise SchemaError(f"field {field.name!r} of kind {field.kind!r} cannot be written")


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1:
        return value.tobytes()
    raise SchemaError(f"expected bytes, got {_said(value)}")


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise SchemaError(f"expected a str, got {_said(value)}")
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as e:
        raise SchemaError(f"text cannot be written as UTF-8: {e}") from e


def _fixed(field: Field, value: Any) -> Any:
    dtype = field.element
    if not field.shape and type(value) is int and dtype.kind in "iu":
        # The commonest value of all, a label: no array is made for it.
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise SchemaError(f"{value} does not fit {field.dtype} ({info.min} to {info.max})")
        return value
    array = _array(dtype, value)
    if array.shape != field.shape:
        shape = f"shape {field.shape}" if field.shape else "a single number"
        raise SchemaError(f"expected {shape} of {field.dtype}, got shape {array.shape}")
    return array if field.shape else array[()]


def _ragged(field: Field, value: Any) -> NDArray[Any]:
    array = _array(field.element, value)
    if array.ndim != 1:
        raise SchemaError(f"expected a 1-D array of {field.dtype}, got shape {array.shape}")
    return array


def _array(dtype: np.dtype[Any], value: Any) -> NDArray[Any]:
    if isinstance(value, str | bytes | bytearray | dict | set):
        raise SchemaError(f"expected {dtype}, got {_said(value)}")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError) as e:
        raise SchemaError(f"expected {dtype}, got {_said(value)}: {e}") from e
    if array.dtype == dtype:
        return array
    if array.size == 0 and array.dtype.kind in "biuf":
        return array.astype(dtype)
    if array.dtype.kind == "O" and array.size and all(type(v) is int for v in array.flat):
        raise SchemaError(f"an integer of {_said(value)} does not fit {dtype}")
    # NumPy calls unsigned from signed another kind; here, whether the values fit decides.
    integers = array.dtype.kind in "iu" and dtype.kind in "iu"
    if not integers and (
        array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, dtype, "same_kind")
    ):
        raise SchemaError(f"expected {dtype}, got {array.dtype} ({_said(value)})")
    return _narrowed(array, dtype)


def _narrowed(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind in "iu" and array.dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = int(array.min()), int(array.max())
        if low < info.min or high > info.max:
            worst = low if low < info.min else high
            raise SchemaError(f"{worst} does not fit {dtype} ({info.min} to {info.max})")
    with np.errstate(over="ignore"):
        narrowed = array.astype(dtype)
    if dtype.kind == "f":
        overflown = np.isinf(narrowed) & np.isfinite(array)
        if overflown.any():
            raise SchemaError(f"{array[overflown].flat[0]} does not fit {dtype}: it becomes inf")
    return narrowed


def _said(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
