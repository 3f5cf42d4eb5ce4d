"""Refreshes docs/benchmarks.md and its picture: `python -m benchmarks.peers.page [FOLDER]`.

What stands between `<!-- begin NAME -->` and `<!-- end NAME -->` is made from the results; the rest
of the page is written by hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .case import Workload
from .corpus.make import formats
from .environments import ENVIRONMENTS, PROJECT, ROOT, folder, interpreter
from .install import ready, reason
from .table import sizes, table
from .workloads import MODULES, load

PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "benchmarks.png"
RESULTS = folder("results")
ORIGINALS = {"images": "files", "records": "columns", "tokens": "columns", "tabular": "parquet"}


def fill(text: str, name: str, content: str) -> str:
    """`text` with `content` in place of what stands between the markers of this name.

    Raises:
        ValueError: there is not exactly one pair of them, in order.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the page needs one '{begin}' with one '{end}' behind it")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content.strip()}\n{end}{rest.split(end)[1]}"


def measured(results: Sequence[Mapping[str, Any]]) -> str:
    """A section a workload: machine where it changes, table, and versions."""
    parts: list[str] = []
    for result in results:
        workload = load(result["workload"])
        plan = result["plan"]
        parts += [f"### {workload.name}", "", table(workload, result), ""]
        parts += [
            f"{plan['repeats']} runs each wanted, {plan['seconds']:g} s counted in each after at "
            f"least {plan['warm_seconds']:g} s and {plan['warm_batches']} batches.",
            "",
        ]
    return "\n".join(parts) or "Not measured yet."


def machines(results: Sequence[Mapping[str, Any]]) -> str:
    """The machine of each run, told once where they are equal."""
    parts: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for result in results:
        parts.setdefault(tuple(sorted(result["machine"].items())), []).append(result["workload"])
    lines = ["| workloads | " + " | ".join(k for k, _ in next(iter(parts), ())) + " |"]
    if not parts:
        return "Not measured yet."
    width = lines[0].count("|") - 1
    lines.append("|---" * width + "|")
    for facts, names in parts.items():
        lines.append(f"| {', '.join(names)} | " + " | ".join(v for _, v in facts) + " |")
    return "\n".join(lines)


def picture(results: Sequence[Mapping[str, Any]]) -> str:
    """The picture with what its colours mean, once there are results to draw."""
    if not results:
        return "Not measured yet."
    return (
        f"![rates of all peers]({PICTURE.name})\n\n"
        "Blue: forebay. Grey: floors, which read nothing and promise nothing. Ochre: other "
        "loaders, and torch\nby hand. Whiskers: least and greatest run."
    )


def disk(results: Sequence[Mapping[str, Any]]) -> str:
    """Sizes of the formats of each corpus."""
    corpora: dict[str, dict[str, int]] = {}
    for result in results:
        corpora.setdefault(load(result["workload"]).corpus, {}).update(result["disk"])
    parts: list[str] = []
    for corpus, found in corpora.items():
        parts += [f"{corpus}:", "", sizes(found, formats(corpus), ORIGINALS[corpus]), ""]
    return "\n".join(parts) or "Not measured yet."


def configurations(workloads: Sequence[Workload]) -> str:
    """Each peer's environment and what its docstring says; told once where workloads share it."""
    parts: list[str] = []
    seen: set[int] = set()
    for workload in workloads:
        peers = [p for p in workload.peers.values() if id(p) not in seen]
        if not peers:
            continue
        seen |= set(map(id, peers))
        lines = ["| peer | environment | configuration and pitfalls |", "|---|---|---|"]
        lines += [f"| {p.name} | {p.environment} | {p.text.replace('|', '/')} |" for p in peers]
        parts += [f"### {workload.name}", "", *lines, ""]
    return "\n".join(parts)


def environments() -> str:
    """What each environment holds, and over which others it lies."""
    lines = ["| environment | packages | over | Debian |", "|---|---|---|---|"]
    for e in ENVIRONMENTS.values():
        packages = ", ".join((*e.packages, *e.without_dependencies))
        over = ", ".join((*e.over, PROJECT))
        lines.append(f"| {e.name} | {packages} | {over} | {', '.join(e.debian) or '-'} |")
    return "\n".join(lines)


def refresh(place: Path) -> None:
    """Fills the page from the results in a folder; draws the picture where matplotlib is."""
    files = [place / f"{name}.json" for name in MODULES]
    files = [file for file in files if file.is_file()]
    results = [json.loads(file.read_text()) for file in files]
    text = PAGE.read_text()
    for name, content in (
        ("machine", machines(results)),
        ("picture", picture(results)),
        ("tables", measured(results)),
        ("sizes", disk(results)),
        ("environments", environments()),
        ("peers", configurations([load(name) for name in MODULES])),
    ):
        text = fill(text, name, content)
    PAGE.write_text(text)
    if not files:
        return
    if ready("plot") is None:
        print(f"no picture: the environment 'plot' is not there: {reason('plot')}", file=sys.stderr)
        return
    command = [interpreter("plot", sys.executable), "-m", f"{__package__}.plot", str(PICTURE)]
    subprocess.run([*command, *map(str, files)], cwd=ROOT, check=True)


if __name__ == "__main__":
    refresh(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
