"""The `huggingface` schema metadata: by it `datasets` shows images and class names, not dicts."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.formats.record import Field, Schema

HUB_KEY = b"huggingface"


def hub_metadata(schema: Schema) -> str:
    """The JSON that describes a schema as `datasets` features."""
    features = {f.name: _feature(f) for f in schema}
    return json.dumps({"info": {"features": features}}, separators=(",", ":"), ensure_ascii=False)


def hub_classes(metadata: Mapping[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    """Names of the classes of each column that the metadata calls a ClassLabel."""
    found: dict[str, tuple[str, ...]] = {}
    for name, feature in _features(metadata).items():
        names = feature.get("names")
        if feature.get("_type") == "ClassLabel" and isinstance(names, list):
            found[name] = tuple(str(n) for n in names)
    return found


def hub_types(metadata: Mapping[bytes, bytes]) -> dict[str, str]:
    """The type of each column that the metadata gives: Image, Audio, Value, ..."""
    return {
        name: feature["_type"]
        for name, feature in _features(metadata).items()
        if isinstance(feature.get("_type"), str)
    }


def is_class_label(field: Field) -> bool:
    """Whether a field is shown as names of classes; those of other widths stay numbers there."""
    return bool(field.classes) and field.spec.rstrip("?") == "int64"


def _feature(field: Field) -> dict[str, Any]:
    if field.kind == "image":
        return {"_type": "Image"}
    if field.kind in ("bytes", "text"):
        return {"dtype": "binary" if field.kind == "bytes" else "string", "_type": "Value"}
    if is_class_label(field):
        return {"names": list(field.classes), "_type": "ClassLabel"}
    value: dict[str, Any] = {"dtype": field.dtype, "_type": "Value"}
    if field.kind == "ragged":
        # "Sequence" is understood by every version; "List" only from 4.0 on.
        return {"feature": value, "_type": "Sequence"}
    if field.shape:
        return {"feature": value, "length": math.prod(field.shape), "_type": "Sequence"}
    return value


def _features(metadata: Mapping[bytes, bytes]) -> dict[str, dict[str, Any]]:
    """Features by column; none where the metadata is absent or not understood, as it is advice."""
    try:
        parsed = json.loads(metadata.get(HUB_KEY, b"{}"))
        features = parsed["info"]["features"]
        return {str(n): f for n, f in features.items() if isinstance(f, dict)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
