"""What a run ran on: processor, memory, system, versions, date and commit."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .environments import ROOT

PACKAGES = ("torch", "numpy", "pyarrow", "numba", "Pillow")


def described() -> dict[str, str]:
    """Facts by name, as text."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "processor": _line("/proc/cpuinfo", "model name"),
        "processors": str(len(os.sched_getaffinity(0))),
        "memory": f"{int(_line('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "packages": ", ".join(f"{p} {_version(p)}" for p in PACKAGES),
    }


def _line(file: str, name: str) -> str:
    for line in Path(file).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown 0"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
