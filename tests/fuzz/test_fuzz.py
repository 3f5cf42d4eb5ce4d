"""Each fuzz target, built with sanitizers and run for a while on its corpus and mutations of it.

By hand, for longer, from the root of the tree (the options are at the top of driver.cpp):

    cmake -S . -B build/fuzz -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=Release \\
        -DFOREBAY_PYTHON=OFF -DFOREBAY_FUZZ=ON -DFOREBAY_SANITIZE=ON
    cmake --build build/fuzz --target forebay_fuzz
    mkdir -p found
    build/fuzz/fuzz_transcode -max_total_time=1800 -timeout=10 found tests/fuzz/corpus/jpeg

With clang the targets are built with libFuzzer (Debian: clang-14, libclang-rt-14-dev), which is
guided by comparisons too, where our own driver, without clang++, knows edges alone. It writes what
it finds into the first folder, so that must not be the corpus.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
TARGETS = sorted(p.stem for p in FOLDER.glob("fuzz_*.cpp"))
EXECUTIONS = 5000
TOOLS = [
    shutil.which("cmake"),
    shutil.which("c++") or shutil.which("g++") or shutil.which("clang++"),
]

pytestmark = [
    pytest.mark.xdist_group("fuzz"),  # one process builds the targets, which takes minutes
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(None in TOOLS, reason="needs cmake and a C++ compiler"),
]


def _run(*command, cwd=None):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, cwd=cwd
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder that holds every target."""
    tree = tmp_path_factory.mktemp("fuzz")
    options = ["-DFOREBAY_PYTHON=OFF", "-DFOREBAY_FUZZ=ON", "-DFOREBAY_SANITIZE=ON"]
    code, said = _run("cmake", "-S", ROOT, "-B", tree, "-DCMAKE_BUILD_TYPE=Release", *options)
    if "headers were not found" in " ".join(said.split()):
        pytest.skip("libjpeg-turbo's headers are not installed")
    assert code == 0, said
    code, said = _run("cmake", "--build", tree, "--target", "forebay_fuzz", "-j2")
    assert code == 0, said
    return tree


@pytest.mark.parametrize("target", TARGETS)
def test_target(built, tmp_path, target):
    own = FOLDER / "corpus" / target.removeprefix("fuzz_")
    corpora = [FOLDER / "corpus" / "jpeg", *([own] if own.is_dir() else [])]
    found = tmp_path / "found"
    found.mkdir()
    code, said = _run(
        built / target, f"-runs={EXECUTIONS}", "-seed=1", found, *corpora, cwd=tmp_path
    )
    assert code == 0, said
