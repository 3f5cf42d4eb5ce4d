"""Fixtures that every folder of tests shares, and how tests are shared by processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that; the
# tests that interrupt a command need it as a terminal gives it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes tells of the machine, and of what else runs on it.
settings.register_profile(
    "forebay", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("forebay")

ROOT = Path(__file__).resolve().parent.parent

# numba's cache is made for one process: two that compile a kernel for differing types at once may
# each give their code the same name, and the next process finds code for other types than it asked
# for. So all kernels are compiled before there are two.
COMPILE_ALL = """
import importlib, pkgutil
import forebay.kernels
from forebay.kernels.compiled import _Later
for module in pkgutil.iter_modules(forebay.kernels.__path__):
    names = vars(importlib.import_module(f"forebay.kernels.{module.name}"))
    for kernel in [value for value in names.values() if isinstance(value, _Later)]:
        kernel.made()
"""


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        choices=["all", "shared", "serial"],
        default="all",
        help="shared: without the tests marked serial; serial: these alone",
    )


def pytest_configure(config):
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, "-c", COMPILE_ALL], check=True)


def pytest_collection_modifyitems(config, items):
    part = config.getoption("part")
    if part != "all":
        serial = [item for item in items if item.get_closest_marker("serial")]
        others = [item for item in items if not item.get_closest_marker("serial")]
        items[:], left_out = (serial, others) if part == "serial" else (others, serial)
        config.hook.pytest_deselected(items=left_out)
    if hasattr(config, "workerinput"):
        # The long ones first: one that began last would keep a process busy when the others have
        # nothing left to do.
        items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real inputs; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("FOREBAY_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real inputs at {folder}; set FOREBAY_TEST_DATA to run this test")
    return folder
