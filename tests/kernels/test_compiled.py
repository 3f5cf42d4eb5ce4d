"""Kernels compile where no folder can be written, and give the same numbers."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import logging, sys, types
logging.basicConfig(stream=sys.stderr, format="%(name)s: %(message)s")
logging.getLogger("forebay").setLevel(logging.INFO)
from numba.core import caching
locators = caching.CacheImpl._locator_classes
if len(sys.argv) > 1:
    for locator in locators:
        locator.from_function = classmethod(lambda cls, function, file: None)
from forebay.kernels.permute import permutation, permute
from forebay.kernels.philox import derive_key
import numpy as np
key = derive_key(1, 2)
print(permutation(9, key).tolist(), permute(1 << 40, key, np.arange(3)).tolist())
"""


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip


def test_without_a_folder_for_the_cache():
    cached, uncached = run(), run("nowhere")
    assert uncached.stdout == cached.stdout
    assert cached.stderr == ""
    lines = uncached.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("forebay.kernels: ")
    assert "NUMBA_CACHE_DIR" in lines[0]
