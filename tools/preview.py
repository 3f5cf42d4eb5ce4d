"""A value of a record, made small: what it is, how large, and how it begins."""

from __future__ import annotations

import json
import math
import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.image.header import probe
from forebay.tools.output import cut, printable, size_text

if TYPE_CHECKING:
    from forebay.formats.record import Field

_CHARACTERS = 200
_ELEMENTS = 8
_FIRST_BYTES = 16

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _CHARACTERS


def preview(field: Field, value: Any) -> Any:
    """A JSON value that stands for one value of a field.

    A number stays one (nan and inf become text, which JSON lacks), a null is null. All else is an
    object: `{"bytes", "encoding", "height", "width", "orientation"}` for an encoded image,
    `{"bytes", "begins"}` for other bytes, `{"characters", "text"}` for text,
    `{"dtype", "shape", "values"}` for an array, `{"value", "class"}` for a label whose class has a
    name, and `{"type", "repr"}` for what only Arrow knows.
    """
    if value is None:
        return None
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, str):
        return {"characters": len(value), "text": value[:_CHARACTERS]}
    if isinstance(value, np.ndarray):
        first = [_number(v) for v in value.reshape(-1)[:_ELEMENTS].tolist()]
        return {"dtype": str(value.dtype), "shape": list(value.shape), "values": first}
    if isinstance(value, bool | int | float):
        if field.classes and 0 <= value < len(field.classes):
            return {"value": _number(value), "class": field.classes[int(value)]}
        return _number(value)
    return {"type": type(value).__name__, "repr": _REPR.repr(value)}


def preview_text(shown: Any, limit: int = 100) -> str:
    """What `preview` gave, as one line of at most about `limit` characters, harmless to print."""
    if not isinstance(shown, dict):
        return "null" if shown is None else str(shown).lower()
    if "encoding" in shown:
        turned = f", orientation {shown['orientation']}" if shown["orientation"] != 1 else ""
        size = f"{shown['height']} x {shown['width']}"
        return f"{shown['encoding']}, {size}{turned}, {size_text(shown['bytes'])}"
    if "bytes" in shown:
        begins = f", begins {shown['begins']}" if shown["begins"] else ""
        return f"{shown['bytes']} bytes{begins}"
    if "text" in shown:
        return _text(shown, limit)
    if "values" in shown:
        dims = ", ".join(map(str, shown["shape"]))
        more = ", ..." if len(shown["values"]) < math.prod(shown["shape"]) else ""
        values = ", ".join(map(str, shown["values"]))
        return cut(f"{shown['dtype']}[{dims}]: {values}{more}", limit)
    if "class" in shown:
        return f"{shown['value']} {cut(printable(shown['class']), limit)}"
    return f"{shown['type']}: {cut(printable(shown['repr']), limit)}"


def _bytes(value: bytes) -> dict[str, Any]:
    info = probe(value)
    if info is None:
        return {"bytes": len(value), "begins": value[:_FIRST_BYTES].hex(" ")}
    return {
        "bytes": len(value),
        "encoding": info.encoding,
        "height": info.height,
        "width": info.width,
        "orientation": info.orientation,
    }


def _text(shown: dict[str, Any], limit: int) -> str:
    text, characters = shown["text"], shown["characters"]
    if characters <= limit:
        return printable(json.dumps(text, ensure_ascii=False))
    return f"{printable(json.dumps(text[:limit], ensure_ascii=False))}... {characters} characters"


def _number(value: float) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
