"""Fixtures that every folder of tests shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real inputs; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("FOREBAY_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real inputs at {folder}; set FOREBAY_TEST_DATA to run this test")
    return folder
