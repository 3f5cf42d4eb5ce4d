"""The stacks of all threads, for reports on code that does not come back."""

from __future__ import annotations

import faulthandler
import tempfile


def stacks() -> str:
    """The Python stacks of every thread of this process, as text."""
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read()
