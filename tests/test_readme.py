"""The pages: what they tell to type runs, what they point at is there.

The README is run as it stands. Its commands and its Python block name `photos` and `data/photos`
relative to the current folder; the test makes such a `photos` folder, one sub-folder a class, in an
empty place, and runs both blocks there: nothing in them is replaced.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    p
    for pattern in ("*.md", "docs/**/*.md", "formats/**/*.md", "benchmarks/*.md")
    for p in ROOT.glob(pattern)
)
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|work|Users|tmp|opt|mnt|usr|var)/\S*|[A-Z]:\\\w+")
# A path of the tree: its first folder is one of ours, and it is written as code.
INSIDE = re.compile(
    r"`((?:scripts|tests|formats|dataloader|kernels|telemetry|tools|examples|docs|benchmarks)"
    r"/[\w./*-]*)"
)
EPOCHS, IMAGES = 2, 80


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(README) if kind == language]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with `photos`: 80 images in 4 classes."""
    for i in range(IMAGES):
        pixels = np.random.default_rng(i).integers(0, 256, (40, 50, 3), np.uint8)
        path = tmp_path / "photos" / f"class{i % 4}" / f"{i:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    # The `forebay` command is installed beside the interpreter.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_the_readme_runs_as_it_stands(folder):
    (commands,) = [text for text in blocks("sh") if "forebay pack" in text]
    assert f"packed {IMAGES} records" in run(["bash", "-euc", commands], folder)
    (program,) = blocks("python")
    (folder / "program.py").write_text(program, encoding="utf-8")
    assert f"{EPOCHS * IMAGES} samples" in run([sys.executable, "program.py"], folder)


def test_the_readme_names_the_two_commands_first():
    assert [line.split()[0] for line in blocks("sh")[0].splitlines()] == [
        "scripts/demo",
        "scripts/test",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_point_at_what_is_there(page):
    text = page.read_text(encoding="utf-8")
    missing = [
        target
        for target in LINK.findall(text)
        if "://" not in target and not (page.parent / target).exists()
    ]
    # A format's page names files of a dataset, not of this tree.
    if ROOT / "formats" not in page.parents:
        for target in INSIDE.findall(text):
            if not list(ROOT.glob(target.rstrip("/."))):
                missing.append(target)
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_name_no_machine(page):
    assert not MACHINE.findall(page.read_text(encoding="utf-8"))


def test_the_table_of_errors_is_whole():
    from forebay import errors

    table = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert [name for name in errors.__all__ if f"`{name}`" not in table] == []
