"""Runs peers in turn, each run one process, until each has enough undisturbed ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import proc
from .case import Peer, Workload
from .environments import PROJECT, ROOT, interpreter
from .install import ready, reason
from .summary import OTHERS_MOST, others_share
from .words import last_words

SAMPLE_S = 0.1
TREE_S = 0.5
GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How to measure.

    Args:
        repeats: undisturbed runs wanted of each peer.
        tries: further rounds for those that have fewer.
        seconds: of the steady window.
        warm_batches, warm_seconds: both pass before it.
        workers: for peers that need a number.
        limit_s: after which a run is ended as failed.
        others_most: share of the machine that others may take in a run that counts.
    """

    repeats: int = 5
    tries: int = 3
    seconds: float = 8.0
    warm_batches: int = 8
    warm_seconds: float = 2.0
    workers: int = 2
    limit_s: float = 180.0
    others_most: float = OTHERS_MOST


def rounds(names: Sequence[str], count: int) -> Iterator[list[str]]:
    """Each round takes every peer once and starts one further on, so that none is always first."""
    for i in range(count):
        at = i % len(names) if names else 0
        yield [*names[at:], *names[:at]]


def compare(
    workload: Workload,
    names: Sequence[str],
    data: Path,
    plan: Plan,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Measures peers side by side.

    Returns:
        `{"runs": {peer: [run, ...]}, "skipped": {peer: why}}`
    """
    runs: dict[str, list[dict[str, Any]]] = {}
    skipped: dict[str, str] = {}
    for name in names:
        environment = workload.peers[name].environment
        if environment != PROJECT and ready(environment) is None:
            skipped[name] = reason(environment)
    for turn in rounds(names, plan.repeats + plan.tries):
        for name in turn:
            clean = sum(others_share(run) <= plan.others_most for run in runs.get(name, []))
            if name in skipped or clean >= plan.repeats:
                continue
            run = run_once(workload, workload.peers[name], data, plan)
            if why := run.get("unavailable") or run.get("failed"):
                skipped[name] = why
                runs.pop(name, None)
                say(f"{workload.name} {name}: skipped: {why}")
                continue
            runs.setdefault(name, []).append(run)
            say(f"{workload.name} {name}: {described(run, workload)}")
    return {"runs": runs, "skipped": skipped}


def described(run: dict[str, Any], workload: Workload) -> str:
    """One run in one line."""
    rate = f"{run['samples'] / run['seconds']:,.0f} {workload.unit}/s, " if "samples" in run else ""
    return (
        f"{rate}first batch {run['first_s']:.2f} s, {run['memory_bytes'] / 1e9:.2f} GB, "
        f"others {others_share(run):.0%}"
    )


def run_once(workload: Workload, peer: Peer, data: Path, plan: Plan) -> dict[str, Any]:
    """One run in a process of its own; `failed` or `unavailable` says why there is no figure."""
    with tempfile.TemporaryDirectory(prefix="forebay-peer-") as scratch:
        out, state, log = (Path(scratch) / n for n in ("result.json", "state", "log"))
        state.mkdir()
        command = [interpreter(peer.environment, sys.executable)]
        command += ["-m", f"{__package__}.child", workload.name, peer.name]
        for key in ("warm_batches", "warm_seconds", "seconds", "workers"):
            command += ["--" + key.replace("_", "-"), str(getattr(plan, key))]
        command += ["--data", str(data), "--state", str(state), "--out", str(out)]
        with log.open("wb") as said:
            child = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"TMPDIR": scratch},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                peak, late = _watch(child, plan.limit_s)
            finally:
                _end(child)
        if out.is_file():
            return json.loads(out.read_text()) | {"memory_bytes": peak}
        said = last_words(log.read_text(errors="replace"))
        if late:
            return {"failed": f"no result after {plan.limit_s:g} s: {said}"}
        return {"failed": f"exit {child.returncode}: {said}"}


def _watch(child: subprocess.Popen[bytes], limit_s: float) -> tuple[int, bool]:
    """Waits for the child; the most memory that its tree held, and whether it came to no end."""
    stop, rescan = time.monotonic() + limit_s, 0.0
    peak, pids = 0, [child.pid]
    while time.monotonic() < stop:
        if time.monotonic() >= rescan:
            pids, rescan = proc.tree(child.pid), time.monotonic() + TREE_S
        peak = max(peak, proc.held_bytes(pids))
        try:
            child.wait(SAMPLE_S)
        except subprocess.TimeoutExpired:
            continue
        return peak, False
    return peak, True


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends what is left of the child's session: workers that outlive it, or the child itself."""
    stop = time.monotonic() + GRACE_S
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, kind)
        except ProcessLookupError:
            break
        while kind == signal.SIGTERM and time.monotonic() < stop and child.poll() is None:
            time.sleep(0.05)
    child.wait()
