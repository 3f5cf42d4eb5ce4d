"""The picture of the page: `python -m benchmarks.peers.plot OUT.png RESULT.json...`.

One panel a workload, a bar a peer at its median, whiskers to its least and greatest run. It runs in
the `plot` environment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from .case import Workload
from .summary import quiet
from .table import OURS
from .workloads import load

WIDE = 30.0
"""Ratio of the greatest to the least rate above which a panel is logarithmic."""
COLOURS = {"ours": "#1f6f8b", "floor": "#b0b0b0", "peer": "#e0a458"}


def values(workload: Workload, runs: Sequence[Mapping[str, Any]], most: float) -> list[float]:
    """What a bar shows of each run that counts: a rate, or seconds of `once` workloads."""
    kept, _ = quiet(runs, most)
    if workload.once:
        return [run["first_s"] for run in kept]
    return [run["samples"] / run["seconds"] for run in kept]


def bars(workload: Workload, result: Mapping[str, Any]) -> list[tuple[str, float, float, float]]:
    """(peer, median, least, greatest), the worst first, as a chart counts from below."""
    found = []
    for name, runs in result["runs"].items():
        each = values(workload, runs, result["plan"]["others_most"])
        found.append((name, median(each), min(each), max(each)))
    return sorted(found, key=lambda bar: -bar[1] if workload.once else bar[1])


def _colour(name: str) -> str:
    kind = "ours" if name.startswith(OURS) else "floor" if name.startswith("floor") else "peer"
    return COLOURS[kind]


def _panel(axes: Any, workload: Workload, result: Mapping[str, Any]) -> None:
    rows = bars(workload, result)
    names, middle, least, greatest = zip(*rows, strict=True)
    below = [m - x for m, x in zip(middle, least, strict=True)]
    above = [x - m for m, x in zip(middle, greatest, strict=True)]
    axes.barh(names, middle, xerr=[below, above], color=list(map(_colour, names)), capsize=2)
    axes.set_title(workload.name, loc="left", fontweight="bold")
    axes.set_xlabel("seconds to the first batch" if workload.once else f"{workload.unit}/s")
    if max(middle) > WIDE * min(middle):
        axes.set_xscale("log")
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    for y, value in enumerate(middle):
        text = f" {value:.2f}" if workload.once else f" {value:,.0f}"
        axes.text(max(greatest[y], value), y, text, va="center", fontsize=7)


def main(out: str, files: Sequence[str]) -> int:
    """Draws the results of these files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    results = [json.loads(Path(file).read_text()) for file in files]
    results = [r for r in results if r["runs"]]
    lines = (len(results) + 1) // 2
    heights = [max(len(r["runs"]) for r in results[i : i + 2]) for i in range(0, len(results), 2)]
    figure, grid = pyplot.subplots(
        lines,
        2,
        figsize=(13, sum(1.2 + 0.26 * h for h in heights)),
        squeeze=False,
        layout="constrained",
        height_ratios=[1.2 + 0.26 * h for h in heights],
    )
    for axes, result in zip(grid.flat, results, strict=False):
        _panel(axes, load(result["workload"]), result)
    for axes in grid.flat[len(results) :]:
        axes.set_axis_off()
    figure.savefig(out, dpi=110, metadata={"Software": None})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
