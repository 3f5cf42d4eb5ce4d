"""`python -m benchmarks.peers WORKLOAD... [--peers a,b] [--repeats N] [--json FILE] [--page]`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from .case import Workload
from .corpus.make import MakeError, ensure, present, scratch
from .environments import PROJECT, folder
from .install import ready, reason
from .machine import described
from .page import refresh
from .runner import Plan, compare
from .table import table
from .workloads import MODULES, load

RESULTS = folder("results")


def run(workload: Workload, names: list[str], plan: Plan) -> dict[str, Any]:
    """Makes the data, measures, and returns the results as JSON values."""
    missing: dict[str, str] = {}
    for name in names:
        for form in workload.peers[name].data:
            try:
                environment = workload.peers[name].environment
                if environment != PROJECT and ready(environment) is None:
                    missing[name] = reason(environment)
                    break
                ensure(workload.corpus, form)
            except MakeError as e:
                missing[name] = f"its data could not be made: {e}"
    able = [name for name in names if name not in missing]
    result = compare(workload, able, scratch() / workload.corpus, plan, _say)
    result["skipped"] |= missing
    return result | {
        "workload": workload.name,
        "title": workload.title,
        "machine": described(),
        "plan": {f.name: getattr(plan, f.name) for f in fields(plan)},
        "disk": present(workload.corpus),
        "versions": {
            e: ready(e) or {} for e in {workload.peers[n].environment for n in able} - {PROJECT}
        },
    }


def choose(workloads: list[Workload], names: list[str] | None) -> dict[str, list[str]]:
    """The peers to measure by workload: those named that it has, in its order; all without names.

    Raises:
        ValueError: a name that no workload has, or a workload that has none of them.
    """
    have = {w.name: [p for p in w.peers if names is None or p in names] for w in workloads}
    if unknown := sorted(set(names or ()).difference(*have.values())):
        known = ", ".join(dict.fromkeys(p for w in workloads for p in w.peers))
        raise ValueError(f"no workload named has a peer {', '.join(unknown)}; there are {known}")
    if empty := [name for name, peers in have.items() if not peers]:
        raise ValueError(f"{', '.join(empty)} has none of the peers named; leave it out")
    return have


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Measures the workloads named, writes their JSON, and prints a table each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(MODULES)}, or all")
    parser.add_argument(
        "--peers",
        help="names separated by commas, of each workload those that it has; all when left out",
    )
    parser.add_argument("--json", type=Path, help=f"folder for the results, {RESULTS} by default")
    parser.add_argument("--page", action="store_true", help="refresh docs/benchmarks.md in the end")
    for f in fields(Plan):
        kind = int if isinstance(f.default, int) else float
        parser.add_argument("--" + f.name.replace("_", "-"), type=kind, default=f.default)
    a = parser.parse_args()
    plan = Plan(**{f.name: getattr(a, f.name) for f in fields(Plan)})
    place: Path = a.json or RESULTS
    place.mkdir(parents=True, exist_ok=True)
    names = list(MODULES) if a.workloads == ["all"] else a.workloads
    workloads = list(map(load, names))
    try:
        chosen = choose(workloads, a.peers.split(",") if a.peers else None)
    except ValueError as e:
        parser.error(str(e))
    for workload in workloads:
        result = run(workload, chosen[workload.name], plan)
        (place / f"{workload.name}.json").write_text(json.dumps(result, indent=1))
        print(table(workload, result))
    if a.page:
        refresh(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
