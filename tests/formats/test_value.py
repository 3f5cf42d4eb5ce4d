"""What values a field takes and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from forebay.formats.errors import SchemaError
from forebay.formats.record import Field
from forebay.formats.value import encoder_of


def encode(spec, value):
    return encoder_of(Field.parse("f", spec))(value)


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        ("bytes", bytearray(b"ab"), b"ab"),
        ("jpeg", memoryview(b"abcd")[::2], b"ac"),
        ("bytes", np.array([1, 2], np.uint8), b"\1\2"),
        ("text", "größe", "größe".encode()),
        ("int8", -128, -128),
        ("int64", np.uint8(200), 200),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("float32", 3, 3.0),
        ("float32", float("nan"), float("nan")),
        ("float16", float("inf"), float("inf")),
        ("bool", True, True),
        ("int32", True, 1),
    ],
)
def test_takes_scalars(spec, value, expected):
    assert encode(spec, value) == expected or expected != expected


@pytest.mark.parametrize(
    ("spec", "value", "dtype", "expected"),
    [
        ("float32[2]", [1, 2], "float32", [1, 2]),
        ("int16[2,1]", np.array([[1], [-1]], np.int64), "int16", [[1], [-1]]),
        ("uint16[*]", [], "uint16", []),
        ("uint16[*]", (65535,), "uint16", [65535]),
        ("float16[*]", np.array([1.5], np.float64), "float16", [1.5]),
        ("float32[0]", [], "float32", []),
    ],
)
def test_takes_arrays(spec, value, dtype, expected):
    got = encode(spec, value)
    assert got.dtype == dtype
    assert got.tolist() == expected


@pytest.mark.parametrize(
    ("spec", "value", "said"),
    [
        ("bytes", "text", "expected bytes, got str 'text'"),
        ("text", b"bytes", "expected a str, got bytes"),
        ("text", "\ud800", "UTF-8"),
        ("int8", 128, r"128 does not fit int8 \(-128 to 127\)"),
        ("uint8", -1, "-1 does not fit uint8"),
        ("int8", np.int64(300), "300 does not fit int8"),
        ("int64", 2**63, "does not fit int64"),
        ("int64", 2**70, "does not fit int64"),
        ("int64", float("nan"), "expected int64, got float64"),
        ("int64", 1.0, "expected int64, got float64"),
        ("int64", "1", "expected int64, got str '1'"),
        ("int64", [1], r"expected a single number of int64, got shape \(1,\)"),
        ("bool", 1, "expected bool, got int64"),
        ("float32", 1e39, "does not fit float32: it becomes inf"),
        ("float16", 70000, "70000 does not fit float16"),
        ("float32", 1j, "expected float32, got complex128"),
        ("float32[2]", [1, 2, 3], r"expected shape \(2,\) of float32, got shape \(3,\)"),
        ("float32[2]", [[1], [2, 3]], "expected float32, got list"),
        ("float32[2]", [None, 1], "expected float32, got object"),
        ("uint16[*]", [[1]], r"expected a 1-D array of uint16, got shape \(1, 1\)"),
        ("uint16[*]", [1, 70000], "70000 does not fit uint16"),
        ("uint16[*]", 3, "expected a 1-D array"),
        ("uint8[*]", b"abc", "expected uint8, got bytes"),
        ("float32[1]", {1.0}, "expected float32, got set"),
    ],
)
def test_refuses(spec, value, said):
    with pytest.raises(SchemaError, match=said):
        encode(spec, value)


def test_other_kinds_cannot_be_written():
    with pytest.raises(SchemaError, match="'f' of kind 'other' cannot be written"):
        encoder_of(Field("f", "other"))
