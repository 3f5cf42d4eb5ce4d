"""One measurement, in the peer's own environment: construct, first batch, warm up, count.

Writes one JSON object to the file named by `--out`; standard output is the peer's.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import proc
from .case import Peer, Ready, Setting, Unavailable, Workload
from .workloads import load


@dataclass(frozen=True, slots=True)
class Window:
    """When to count: after at least so many batches and seconds, for so many seconds."""

    warm_batches: int
    warm_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counters at one moment."""

    time: float
    machine: proc.Machine
    ours: float
    tree: float
    read: int


def snapshot(runner: int) -> Snapshot:
    """The counters now; `runner` is the process that watches, whose work is no disturbance."""
    pids = proc.tree(os.getpid())
    tree = proc.cpu_seconds(pids)
    ours = tree + proc.own_cpu_seconds(runner)
    return Snapshot(time.perf_counter(), proc.machine(), ours, tree, proc.read_bytes(pids))


def endless(epochs: Iterable[Any]) -> Iterator[Any]:
    """Batches of one epoch after the other.

    Raises:
        ValueError: an epoch without a batch, which would count nothing for ever.
    """
    while True:
        empty = True
        for batch in epochs:
            empty = False
            yield batch
        if empty:
            raise ValueError("an epoch held no batch")


def measure(workload: Workload, peer: Peer, setting: Setting, window: Window) -> dict[str, Any]:
    """Runs one peer; seconds, counts and bytes as JSON values.

    Raises:
        Unavailable: the peer says that it cannot do this.
        ValueError: its batches are not what the workload asks for.
    """
    import torch

    for name in peer.imports:
        importlib.import_module(name)
    # Its threads would take turns with the loader's, and wait for them spinning: a gather of small
    # rows is 4 to 20 times slower with two of them when one processor is busy.
    torch.set_num_threads(1)
    runner = os.getppid()
    begin, start = snapshot(runner), time.perf_counter()
    started = peer.start(setting)
    if isinstance(started, Ready):
        begin, start = snapshot(runner), time.perf_counter()
        started = started.make()
    batches = endless(started)
    batch = next(batches)
    first = time.perf_counter() - start
    result: dict[str, Any] = {"first_s": first, "delivered": workload.check(batch, setting)}
    if workload.once:
        return result | _spent(begin, snapshot(runner))
    seen = 1
    while seen < window.warm_batches or time.perf_counter() - start < window.warm_seconds:
        batch = next(batches)
        seen += 1
    workload.check(batch, setting)
    begin, count, steps = snapshot(runner), 0, 0
    stop = begin.time + window.seconds
    while time.perf_counter() < stop:
        batch = next(batches)
        count += workload.samples(batch)
        steps += 1
    counted = {"samples": count, "batches": steps}
    return result | counted | _spent(begin, snapshot(runner))


def _spent(begin: Snapshot, end: Snapshot) -> dict[str, Any]:
    """What passed between two moments, as JSON values."""
    machine = zip(asdict(end.machine).items(), asdict(begin.machine).values(), strict=True)
    return {
        "seconds": end.time - begin.time,
        "cpu_s": end.tree - begin.tree,
        "read_bytes": end.read - begin.read,
        "ours_s": end.ours - begin.ours,
        "machine": {key: after - before for (key, after), before in machine},
    }


def main() -> int:
    """The command that the runner starts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workload")
    parser.add_argument("peer")
    for name, kind in (("data", Path), ("state", Path), ("out", Path)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    for name in ("workers", "warm-batches"):
        parser.add_argument(f"--{name}", type=int, required=True)
    for name in ("warm-seconds", "seconds"):
        parser.add_argument(f"--{name}", type=float, required=True)
    a = parser.parse_args()
    workload = load(a.workload)
    setting = Setting(a.data, workload.batch, a.workers, workload.variant, a.state)
    window = Window(a.warm_batches, a.warm_seconds, a.seconds)
    try:
        result = measure(workload, workload.peers[a.peer], setting, window)
    except Unavailable as e:
        result = {"unavailable": str(e)}
    partial = a.out.with_suffix(".partial")
    partial.write_text(json.dumps(result))
    partial.rename(a.out)
    sys.stdout.flush()
    # Some peers' threads and processes never end by themselves; the runner ends what is left.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
