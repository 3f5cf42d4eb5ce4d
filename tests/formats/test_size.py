from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.formats.size import parse_size


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("4096", 4096),
        (4096, 4096),
        ("1GB", 10**9),
        ("1 GiB", 2**30),
        ("128MiB", 128 * 2**20),
        ("64kb", 64_000),
        ("1.5KiB", 1536),
        ("2TB", 2 * 10**12),
        (" 7 B ", 7),
    ],
)
def test_sizes(text, want):
    assert parse_size(text) == want


@pytest.mark.parametrize(
    "text", ["", "MiB", "1 MB/s", "-1", "1e6", "0", 0, -5, True, "9" * 30, 1.5]
)
def test_refused_with_the_name(text):
    with pytest.raises(ValueError, match="shard_bytes"):
        parse_size(text, "shard_bytes")


@given(st.integers(1, 1 << 40), st.sampled_from(["B", "KB", "KiB", "MB", "MiB"]))
def test_unit_is_a_factor(n, unit):
    assert parse_size(f"{n}{unit}") == n * parse_size(f"1{unit}")
