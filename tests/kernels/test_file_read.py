"""Ranges of a file in one call against the file's bytes."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.kernels.file_read import read_ranges

SIZE = 10_000


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    path = tmp_path_factory.mktemp("read") / "bytes"
    content = np.random.default_rng(3).bytes(SIZE)
    path.write_bytes(content)
    with path.open("rb", buffering=0) as file:
        yield file.fileno(), content


@settings(deadline=None)
@given(ranges=st.lists(st.tuples(st.integers(0, SIZE + 50), st.integers(0, SIZE + 50)), max_size=9))
def test_ranges_are_the_files_bytes_up_to_the_first_that_is_not_whole(opened, ranges):
    descriptor, content = opened
    outs = [bytearray(b"\xff" * n) for _, n in ranges]
    read = read_ranges(descriptor, [at for at, _ in ranges], outs)
    short = [i for i, (at, n) in enumerate(ranges) if n and at + n > SIZE]
    whole = short[0] if short else len(ranges)
    left = max(0, SIZE - ranges[whole][0]) if short else 0
    assert read == (whole, left, 0)
    for i, (at, n) in enumerate(ranges[:whole]):
        assert outs[i] == content[at : at + n]
    for i, (_, n) in enumerate(ranges[whole + 1 :], whole + 1):
        assert outs[i] == b"\xff" * n, "nothing is read behind a range that is not whole"


def test_an_error_of_the_system_has_its_number(tmp_path):
    out = bytearray(4)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        assert read_ranges(descriptor, [0], [out]) == (0, 0, errno.EISDIR)
    finally:
        os.close(descriptor)
    assert read_ranges(descriptor, [0], [out]).error == errno.EBADF


def test_what_is_refused(opened):
    descriptor, _ = opened
    with pytest.raises(ValueError, match="one size"):
        read_ranges(descriptor, [0, 1], [bytearray(1)])
    with pytest.raises(ValueError, match="below 0"):
        read_ranges(descriptor, [-1], [bytearray(1)])
    with pytest.raises(BufferError):
        read_ranges(descriptor, [0], [b"read-only"])
    with pytest.raises(BufferError):
        read_ranges(descriptor, [0], [memoryview(bytearray(8))[::2]])
