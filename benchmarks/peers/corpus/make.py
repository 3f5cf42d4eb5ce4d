"""Makes formats of a corpus once: `ensure` from the runner, `python -m ...corpus.make` in a peer's.

A format is written beside its place and renamed, so that one that is there is whole.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..environments import PROJECT, ROOT, interpreter
from ..words import last_words


class MakeError(Exception):
    """A format could not be made; says what its writer said last."""


@dataclass(frozen=True, slots=True)
class Format:
    """One form of a corpus.

    Args:
        make: writes it: (folder of the corpus, place to write, which does not exist yet).
        environment: that it runs in.
        needs: formats that it reads.
        part: share of the samples that it holds.
    """

    make: Callable[[Path, Path], None]
    environment: str = PROJECT
    needs: tuple[str, ...] = ()
    part: float = 1.0

    @property
    def text(self) -> str:
        """What it is, in one sentence: the first paragraph of its maker's docstring."""
        paragraph = (self.make.__doc__ or "").strip().split("\n\n")[0]
        return " ".join(paragraph.split()).removesuffix(".")


def scratch() -> Path:
    """Where all corpora lie: FOREBAY_BENCH_DATA, or a folder in the system's temporary one."""
    default = Path(tempfile.gettempdir()) / "forebay-bench"
    return Path(os.environ.get("FOREBAY_BENCH_DATA", default))


def formats(corpus: str) -> dict[str, Format]:
    """The formats of a corpus, by name."""
    module = importlib.import_module(f".{corpus}", __package__)
    found: dict[str, Format] = module.FORMATS
    return found


def ensure(corpus: str, name: str) -> Path:
    """The path of a format, made where it is absent.

    Raises:
        MakeError: making it failed.
    """
    place = scratch() / corpus / name
    if place.exists():
        return place
    made = formats(corpus)[name]
    for need in made.needs:
        ensure(corpus, need)
    command = [interpreter(made.environment, sys.executable), "-m", __name__, corpus, name]
    # TMPDIR: some writers leave their caches there.
    with tempfile.TemporaryDirectory(prefix="forebay-make-") as temporary:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            env=os.environ | {"TMPDIR": temporary, "FOREBAY_BENCH_DATA": str(scratch())},
        )
    if done.returncode or not place.exists():
        raise MakeError(f"{corpus}/{name}: {last_words(done.stdout + done.stderr)}")
    return place


def size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; what links point at is counted once."""
    if path.is_file():
        return path.stat().st_size
    files = {p.resolve() for p in path.rglob("*") if p.is_file()}
    return sum(p.stat().st_size for p in files)


def present(corpus: str) -> dict[str, int]:
    """Bytes on disk of each format of a corpus that is there, whoever asked for it."""
    places = {name: scratch() / corpus / name for name in formats(corpus)}
    return {name: size(place) for name, place in places.items() if place.exists()}


def main() -> int:
    """Makes one format in this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("format")
    a = parser.parse_args()
    folder = scratch() / a.corpus
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{a.format}.partial"
    if partial.is_dir():
        shutil.rmtree(partial)
    partial.unlink(missing_ok=True)
    formats(a.corpus)[a.format].make(folder, partial)
    partial.rename(folder / a.format)
    return 0


if __name__ == "__main__":
    sys.exit(main())
