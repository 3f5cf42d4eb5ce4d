"""Ranges of a file in one call against the file's bytes."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.kernels.file_read import read_file

SIZE = 10_000


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("read") / "bytes"
    content = np.random.default_rng(3).bytes(SIZE)
    path.write_bytes(content)
    return path, content


@settings(deadline=None)
@given(ranges=st.lists(st.tuples(st.integers(0, SIZE + 50), st.integers(0, SIZE + 50)), max_size=9))
def test_ranges_are_the_files_bytes_up_to_the_first_that_is_not_whole(file, ranges):
    path, content = file
    outs = [bytearray(b"\xff" * n) for _, n in ranges]
    read = read_file(path, [at for at, _ in ranges], outs)
    short = [i for i, (at, n) in enumerate(ranges) if n and at + n > SIZE]
    whole = short[0] if short else len(ranges)
    left = max(0, SIZE - ranges[whole][0]) if short else 0
    assert read == (True, whole, left, 0)
    for i, (at, n) in enumerate(ranges[:whole]):
        assert outs[i] == content[at : at + n]
    for i, (_, n) in enumerate(ranges[whole + 1 :], whole + 1):
        assert outs[i] == b"\xff" * n, "nothing is read behind a range that is not whole"


def test_an_error_of_the_system_has_its_number(tmp_path):
    out = bytearray(4)
    assert read_file(tmp_path, [0], [out]) == (True, 0, 0, errno.EISDIR)
    assert read_file(tmp_path / "none", [0], [out]) == (False, 0, 0, errno.ENOENT)
    assert read_file(tmp_path / "none", [], []) == (False, 0, 0, errno.ENOENT)


def test_names_of_any_bytes(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9 \xff\xe2\x82\xac")
    path.write_bytes(b"1234")
    out = bytearray(2)
    assert read_file(path, [1], [out]) == (True, 1, 0, 0)
    assert out == b"23"


def test_no_descriptor_stays(file, tmp_path):
    path, _ = file
    before = os.listdir("/proc/self/fd")
    for end in (path, tmp_path, tmp_path / "none"):
        read_file(end, [SIZE], [bytearray(1)])
    assert os.listdir("/proc/self/fd") == before


def test_what_is_refused(file):
    path, _ = file
    with pytest.raises(ValueError, match="one size"):
        read_file(path, [0, 1], [bytearray(1)])
    with pytest.raises(ValueError, match="below 0"):
        read_file(path, [-1], [bytearray(1)])
    with pytest.raises(BufferError):
        read_file(path, [0], [b"read-only"])
    with pytest.raises(BufferError):
        read_file(path, [0], [memoryview(bytearray(8))[::2]])
    with pytest.raises(ValueError, match="zero byte"):
        read_file("bytes\0", [0], [bytearray(1)])
