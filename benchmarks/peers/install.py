"""Makes the environments of the peers: `python -m benchmarks.peers.install NAME...`.

Run by scripts/peers with the project's own interpreter. One that fails leaves its reason behind,
which the tables then show in place of figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from .environments import ENVIRONMENTS, ROOT, Environment, folder, interpreter, layers
from .words import last_words

LIMIT_S = 3000.0
VERSIONS = """
import importlib, json, sys
from importlib.metadata import distributions
for name in sys.argv[1].split(","):
    importlib.import_module(name)
own = {d.metadata["Name"]: d.version for d in distributions(path=[sys.argv[2]])}
print(json.dumps(own))
"""


class InstallError(Exception):
    """An environment could not be made; says which step failed and how."""


def ready(name: str) -> dict[str, str] | None:
    """Versions of the packages in an environment that is installed; None where it is not."""
    try:
        return dict(json.loads((folder(name) / "ready.json").read_text()))
    except FileNotFoundError:
        return None


def reason(name: str) -> str:
    """Why an environment is not installed."""
    failed = folder(name) / "failed.txt"
    return failed.read_text().strip() if failed.is_file() else f"run scripts/peers {name}"


def install(name: str) -> None:
    """Makes one environment and those that it lies over; nothing where they are there.

    Raises:
        InstallError: a step failed; the reason is also left in the environment's folder.
    """
    for below in reversed(layers(name)):
        install(below)
    if ready(name) is not None:
        return
    environment, place = ENVIRONMENTS[name], folder(name)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        _debian(environment)
        _python(environment)
        versions = _prove(environment)
    except InstallError as e:
        (place / "failed.txt").write_text(f"{e}\n")
        raise
    (place / "ready.json").write_text(json.dumps(versions, indent=1))


def _debian(environment: Environment) -> None:
    absent = [
        p
        for p in environment.debian
        if subprocess.run(["dpkg", "-s", p], capture_output=True).returncode
    ]
    if not absent:
        return
    if os.geteuid() != 0:
        raise InstallError(f"needs Debian's {' '.join(absent)}: install them as root first")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    _run(["apt-get", "update", "-qq"], "apt-get update", quiet)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *absent]
    _run(command, "apt-get install", quiet)


def _python(environment: Environment) -> None:
    name = environment.name
    place, python = folder(name), interpreter(name, sys.executable)
    _run([sys.executable, "-m", "venv", str(place)], "venv", {})
    below = [str(_packages(folder(one))) for one in layers(name)]
    # A line in a .pth file is one folder, searched after the environment's own packages.
    lines = [*below, sysconfig.get_path("purelib")]
    (_packages(place) / "layers.pth").write_text("\n".join(lines) + "\n")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    fixed = [] if environment.own_torch else ["-c", str(ROOT / "constraints.txt")]
    _run([*pip, *fixed, *environment.packages], "pip install", {})
    if environment.without_dependencies:
        extra = ["--no-deps"] + ([] if environment.build_isolation else ["--no-build-isolation"])
        _run([*pip, *extra, *environment.without_dependencies], "pip install --no-deps", {})


def _packages(place: Path) -> Path:
    (found,) = (place / "lib").glob("python3*/site-packages")
    return found


def _prove(environment: Environment) -> dict[str, str]:
    python = interpreter(environment.name, sys.executable)
    packages = str(_packages(folder(environment.name)))
    text = _run([python, "-c", VERSIONS, ",".join(environment.proof), packages], "import", {})
    return dict(json.loads(text.strip().splitlines()[-1]))


def _run(command: list[str], step: str, extra: dict[str, str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, env=os.environ | extra
    )
    if done.returncode:
        raise InstallError(f"{step} failed: {last_words(done.stderr + done.stdout)}")
    return done.stdout


def main() -> int:
    """The command: 0 when all were made, 1 when one failed."""
    parser = argparse.ArgumentParser(prog="scripts/peers", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ENVIRONMENTS)}; all when none")
    names = parser.parse_args().names or list(ENVIRONMENTS)
    unknown = sorted(set(names) - set(ENVIRONMENTS))
    if unknown:
        parser.error(f"no environment {', '.join(unknown)}; there are {', '.join(ENVIRONMENTS)}")
    failures = 0
    for name in names:
        print(f"{name}: ", end="", flush=True)
        try:
            install(name)
            print("ready")
        except InstallError as e:
            print(e)
            failures += 1
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
