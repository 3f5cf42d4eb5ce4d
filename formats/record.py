"""What a record is: fields, schemas, and columns of records in memory.

A schema is written as `{"image": "jpeg", "label": "int64", "x": "float32[20]"}`. A trailing `?`

======== =========================== ==================================================
kind     written as                  a value of it
======== =========================== ==================================================
image    jpeg | png | image          the encoded file's bytes
bytes    bytes                       bytes
text     text                        str, UTF-8 at rest
fixed    int64, float32[20], bool[3,4]  a number, or an array of that shape
ragged   uint16[*]                   a 1-D array of any length
other    (foreign files only)        what Arrow gives as a Python object
======== =========================== ==================================================
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from forebay.formats.errors import SchemaError

Kind = Literal["image", "bytes", "text", "fixed", "ragged", "other"]

IMAGE_ENCODINGS = ("jpeg", "png", "image")
DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)
_SPEC = re.compile(
    r"(?P<base>[a-z]+[0-9]*)(?:\[(?P<shape>\*|[0-9]+(?:\s*,\s*[0-9]+)*)\])?(?P<null>\?)?"
)
_SPEC_HELP = (
    "write 'jpeg', 'png', 'image', 'bytes', 'text', a dtype such as 'int64', a fixed shape such as "
    "'float32[20]', or a ragged one such as 'uint16[*]'; a trailing '?' allows nulls"
)


@dataclass(frozen=True, slots=True)
class Field:
    """A named column.

    Args:
        encoding: for images, what the bytes are: jpeg, png, or image (any).
        dtype: NumPy's name of the element type, for fixed and ragged fields.
        shape: of one value, for fixed fields; () is a scalar.
        classes: names of the classes that an integer label counts, or ().
    """

    name: str
    kind: Kind
    dtype: str = ""
    shape: tuple[int, ...] = ()
    encoding: str = ""
    nullable: bool = False
    classes: tuple[str, ...] = ()

    @staticmethod
    def parse(name: str, spec: str) -> Field:
        """The field that a specification such as `float32[20]` describes.

        Raises:
            SchemaError: the name or the specification is not understood.
        """
        if not isinstance(name, str) or not name or "." in name or "\0" in name:
            raise SchemaError(
                f"field name {name!r} is not usable: give a non-empty string without '.' or NUL"
            )
        match = _SPEC.fullmatch(spec.strip()) if isinstance(spec, str) else None
        if match is None:
            raise SchemaError(
                f"field {name!r}: specification {spec!r} not understood; {_SPEC_HELP}"
            )
        base, shape, nullable = match["base"], match["shape"], match["null"] is not None
        if base in IMAGE_ENCODINGS and shape is None:
            return Field(name, "image", encoding=base, nullable=nullable)
        if base in ("bytes", "text") and shape is None:
            return Field(name, "bytes" if base == "bytes" else "text", nullable=nullable)
        if base not in DTYPES:
            raise SchemaError(
                f"field {name!r}: specification {spec!r} not understood; {_SPEC_HELP}"
            )
        if shape == "*":
            return Field(name, "ragged", dtype=base, nullable=nullable)
        dims = tuple(int(d) for d in shape.split(",")) if shape else ()
        return Field(name, "fixed", dtype=base, shape=dims, nullable=nullable)

    @property
    def spec(self) -> str:
        """The specification that `parse` reads back into this field."""
        mark = "?" if self.nullable else ""
        if self.kind == "image":
            return self.encoding + mark
        if self.kind == "ragged":
            return f"{self.dtype}[*]{mark}"
        if self.kind == "fixed":
            dims = f"[{','.join(map(str, self.shape))}]" if self.shape else ""
            return f"{self.dtype}{dims}{mark}"
        return self.kind + mark

    @property
    def width(self) -> int:
        """Bytes of one value at rest, for fixed fields; 0 for others."""
        if self.kind != "fixed":
            return 0
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def element(self) -> np.dtype[Any]:
        """Dtype of the values that a column of this field holds."""
        return np.dtype(self.dtype) if self.dtype else np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a dataset, in order."""

    fields: tuple[Field, ...]
    _at: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        at = {f.name: i for i, f in enumerate(self.fields)}
        if len(at) != len(self.fields):
            names = [f.name for f in self.fields]
            twice = sorted({n for n in names if names.count(n) > 1})
            raise SchemaError(f"field name used twice: {', '.join(twice)}")
        object.__setattr__(self, "_at", at)

    @staticmethod
    def parse(spec: Mapping[str, str]) -> Schema:
        """The schema of `{"image": "jpeg", "label": "int64"}`.

        Raises:
            SchemaError: no field, or one that is not understood.
        """
        if not isinstance(spec, Mapping) or not spec:
            raise SchemaError(
                f"fields must be a non-empty dict of name: specification, got {reprlib.repr(spec)}"
            )
        return Schema(tuple(Field.parse(name, text) for name, text in spec.items()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    def __getitem__(self, name: str) -> Field:
        try:
            return self.fields[self._at[name]]
        except KeyError:
            raise SchemaError(
                f"no field {name!r}; the fields are {', '.join(self.names)}"
            ) from None

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self._at

    def select(self, columns: Sequence[str] | None) -> Schema:
        """The schema of these columns, in the order given; all when None."""
        if columns is None:
            return self
        return Schema(tuple(self[name] for name in columns))

    def to_json(self) -> list[dict[str, Any]]:
        """A JSON value that `from_json` reads back."""
        rows: list[dict[str, Any]] = []
        for f in self.fields:
            row: dict[str, Any] = {"name": f.name, "kind": f.kind}
            if f.dtype:
                row["dtype"] = f.dtype
            if f.kind == "fixed":
                row["shape"] = list(f.shape)
            if f.encoding:
                row["encoding"] = f.encoding
            if f.nullable:
                row["nullable"] = True
            if f.classes:
                row["classes"] = list(f.classes)
            rows.append(row)
        return rows

    @staticmethod
    def from_json(rows: Sequence[Mapping[str, Any]]) -> Schema:
        """The schema that `to_json` wrote.

        Raises:
            SchemaError: a row is not a field.
        """
        try:
            fields = tuple(
                Field(
                    name=str(r["name"]),
                    kind=r["kind"],
                    dtype=str(r.get("dtype", "")),
                    shape=tuple(int(d) for d in r.get("shape", ())),
                    encoding=str(r.get("encoding", "")),
                    nullable=bool(r.get("nullable", False)),
                    classes=tuple(str(c) for c in r.get("classes", ())),
                )
                for r in rows
            )
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise SchemaError(f"fields are not a list of field descriptions: {e!r}") from e
        for f in fields:
            if f.kind not in ("image", "bytes", "text", "fixed", "ragged", "other"):
                raise SchemaError(f"field {f.name!r} has unknown kind {f.kind!r}")
            if f.kind in ("fixed", "ragged") and f.dtype not in DTYPES:
                raise SchemaError(f"field {f.name!r} has unknown dtype {f.dtype!r}")
        return Schema(fields)
