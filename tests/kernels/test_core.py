"""The C++ core's own tests, built without Python and run."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = [
    shutil.which("cmake"),
    shutil.which("c++") or shutil.which("g++") or shutil.which("clang++"),
]


@pytest.mark.long
@pytest.mark.skipif(None in TOOLS, reason="needs cmake and a C++ compiler")
def test_core(tmp_path):
    options = ["-DFOREBAY_PYTHON=OFF", "-DFOREBAY_TESTS=ON", "-DCMAKE_BUILD_TYPE=Release"]
    ninja = shutil.which("ninja")
    if ninja:
        options += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(tmp_path), *options],
        ["cmake", "--build", str(tmp_path)],
        ["ctest", "--test-dir", str(tmp_path), "--output-on-failure", "--no-tests=error"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
