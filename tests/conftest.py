"""Fixtures that every folder of tests shares."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that; the
# tests that interrupt a command need it as a terminal gives it.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real inputs; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("FOREBAY_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real inputs at {folder}; set FOREBAY_TEST_DATA to run this test")
    return folder
