"""Kernels compile where no folder can be written, and give the same numbers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from forebay.kernels.compiled import compiled

PROGRAM = """
import logging, sys
logging.basicConfig(stream=sys.stderr, format="%(name)s: %(message)s")
logging.getLogger("forebay").setLevel(logging.INFO)
from numba.core import caching
locators = caching.CacheImpl._locator_classes
if len(sys.argv) > 1:
    for locator in locators:
        locator.from_function = classmethod(lambda cls, function, file: None)
import numpy as np
from forebay.kernels import gather, normalise
values, out = np.arange(9) ** 2, np.empty(3, np.int64)
gather.gather_rows(values, np.array([8, 0, 4]), out)
table = np.arange(256, dtype=np.float32)[None] / 2
print(out.tolist(), normalise.normalise(np.full((1, 1, 2, 1), 7, np.uint8), table).tolist())
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
    assert cached.stdout == "[64, 0, 16] [[[[3.5, 3.5]]]]\n"


@compiled()
def place_of(places, i):
    """Where row number i goes."""
    return places[i]


def test_kernels_of_one_name_stay_functions():
    """A kernel is itself before and after its first call, with its name and text."""
    here = sys.modules[__name__]
    place_of = here.place_of
    assert place_of.__name__ == "place_of"
    assert place_of.__doc__ == "Where row number i goes."
    places = np.array([5, 7])
    assert place_of(places, 1) == 7
    assert here.place_of is not place_of
    assert place_of(places, 0) == here.place_of(places, 0) == 5


FACES = """
import importlib, pkgutil, sys
import forebay.kernels
for module in pkgutil.iter_modules(forebay.kernels.__path__):
    if module.name != "instructions":
        importlib.import_module(f"forebay.kernels.{module.name}")
assert not {"numba", "llvmlite"} & set(sys.modules)
"""


def test_importing_kernels_compiles_none():
    subprocess.run([sys.executable, "-c", FACES], timeout=60, check=True)
