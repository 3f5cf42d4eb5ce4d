"""Builds the native kernels with CMake; every other fact of the package is in pyproject.toml."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent.resolve()
SEARCH = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])


class CMakeBuild(build_ext):
    """Configures and builds `build/<cache_tag>`, and writes the extension where it is asked."""

    def build_extension(self, ext: Extension) -> None:
        cmake = shutil.which("cmake", path=SEARCH)
        if cmake is None:
            raise SystemExit("forebay: cmake was not found; install it with `pip install cmake`")
        tree = ROOT / "build" / sys.implementation.cache_tag
        output = Path(self.get_ext_fullpath(ext.name)).parent.resolve()
        # Every path that lives in pip's build environment is passed at each configure: that
        # environment is deleted afterwards, and CMake's cache would go on naming it.
        configure = [cmake, "-S", str(ROOT), "-B", str(tree), "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DFOREBAY_OUTPUT={output}", f"-DPython_EXECUTABLE={sys.executable}"]
        configure += [f"-Dnanobind_DIR={nanobind.cmake_dir()}"]
        if ninja := shutil.which("ninja", path=SEARCH):
            configure += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
        configure += shlex.split(os.environ.get("CMAKE_ARGS", ""))
        subprocess.run(configure, check=True)
        jobs = str(self.parallel or os.cpu_count() or 1)
        subprocess.run([cmake, "--build", str(tree), "--config", "Release", "-j", jobs], check=True)


setup(
    ext_modules=[Extension("forebay.kernels._native", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
