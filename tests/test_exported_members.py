"""The front door: what `forebay` exports, what importing costs, and that every module imports."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
import types

import pytest

import forebay

HEAVY = ("torch", "numba", "pyarrow")
# Importing `forebay.tools.__main__` runs the command line.
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(forebay.__path__, "forebay.")
    if not m.name.endswith("__main__") and ".peers" not in m.name
)

TIME_IMPORT = """
import importlib, sys, time
start = time.perf_counter()
importlib.import_module(sys.argv[1])
print(time.perf_counter() - start)
"""

IMPORT_EACH = """
import os, sys
import numpy, PIL.Image, pyarrow.parquet, pytest, torch, typer, zstandard  # shared by the children
failed = []
for name in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        try:
            __import__(name)
        except BaseException as e:
            print(f"{name}: {type(e).__name__}: {e}", flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        failed.append(name)
sys.exit(len(failed) > 0)
"""


def run(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", forebay.__all__)
def test_export_resolves_and_is_described(name):
    member = getattr(forebay, name)
    assert member.__doc__
    assert len(member.__doc__.strip()) > 20
    assert name in dir(forebay)


@pytest.mark.parametrize("module", ["errors", "transforms"])
def test_names_of_exported_modules_resolve(module):
    found = getattr(forebay, module)
    assert found.__all__ == sorted(set(found.__all__), key=found.__all__.index)
    for name in found.__all__:
        member = getattr(found, name)
        assert not isinstance(member, type) or member.__doc__, name


def test_exports_are_sorted_and_told_once():
    assert forebay.__all__ == sorted(set(forebay.__all__))


def test_nothing_else_is_public():
    code = "import forebay; print(*dir(forebay))"
    listed = {n for n in run(code).stdout.split() if not n.startswith("_")}
    assert listed == set(forebay.__all__)


def test_star_import_brings_the_exports_alone():
    code = "before = set(globals()); from forebay import *; print(*(set(globals()) - before))"
    assert set(run(code).stdout.split()) - {"before"} == set(forebay.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Dataloader'"):
        _ = forebay.Dataloader


def test_every_error_is_exported():
    from forebay.dataloader.flow import errors as flow
    from forebay.formats import errors as formats

    for module in (flow, formats):
        for name, member in vars(module).items():
            if isinstance(member, type) and member.__module__ == module.__name__:
                assert getattr(forebay.errors, name) is member


def test_import_loads_nothing_heavy():
    code = f"import sys, forebay; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


@pytest.mark.long
@pytest.mark.serial
def test_import_takes_under_one_and_a_half_times_torch():
    best = dict.fromkeys(("forebay", "torch"), float("inf"))
    for _ in range(3):  # interleaved, so that a slow spell of the machine meets both
        for name in best:
            best[name] = min(best[name], float(run(TIME_IMPORT, name).stdout))
    assert best["forebay"] < 1.5 * best["torch"], best


@pytest.mark.long
def test_every_module_imports_first():
    """Each in a process of its own that has loaded no other module of forebay: no hidden order."""
    assert len(MODULES) > 50
    done = run(IMPORT_EACH, *MODULES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_says_what_it_is():
    for name in MODULES:
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType) and hasattr(module, "__path__"):
            assert module.__doc__, name
