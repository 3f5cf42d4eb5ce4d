"""From runs to figures: which runs count, their medians and their spread. Pure arithmetic."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OTHERS_MOST = 0.05
"""Share of the machine that others may take during a run that counts."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A median and the distance from the least to the greatest value, as a share of it."""

    median: float
    spread: float


@dataclass(frozen=True, slots=True)
class Row:
    """One peer's figures; None where a measure does not apply.

    Args:
        runs: that count.
        dropped: runs that others disturbed.
        disturbed: whether there was no undisturbed run, so that the quietest one stands for them.
        rate: samples a second.
        cpu: CPU seconds a sample; of one first batch where only that is measured.
        first: seconds from construction to the first batch.
        memory: peak bytes, anonymous and shared.
        read: bytes read a sample.
    """

    runs: int
    dropped: int
    disturbed: bool
    rate: Figure | None
    cpu: Figure | None
    first: Figure
    memory: Figure
    read: Figure | None


def others_share(run: Mapping[str, Any]) -> float:
    """Share of the machine's time during the window that neither the peer nor the runner used.

    Time stolen by the host counts as others' work.
    """
    machine = run["machine"]
    others = machine["busy"] + machine["stolen"] - run["ours_s"]
    return max(0.0, float(others / machine["total"])) if machine["total"] else 0.0


def figure(values: Sequence[float]) -> Figure:
    """Median and spread of at least one value."""
    median = statistics.median(values)
    return Figure(median, (max(values) - min(values)) / median if median else 0.0)


def quiet(
    runs: Sequence[Mapping[str, Any]], most: float = OTHERS_MOST
) -> tuple[list[Mapping[str, Any]], bool]:
    """The runs that count, and whether even the quietest of all was disturbed."""
    kept = [run for run in runs if others_share(run) <= most]
    return (kept, False) if kept else ([min(runs, key=others_share)], True)


def summarise(runs: Sequence[Mapping[str, Any]], most: float = OTHERS_MOST) -> Row:
    """The figures of one peer from at least one run."""
    kept, disturbed = quiet(runs, most)
    counted = [run for run in kept if run.get("samples")]

    def each(key: str, per: str) -> Figure | None:
        return figure([run[key] / run[per] for run in counted]) if counted else None

    cpu = each("cpu_s", "samples")
    if cpu is None:
        cpu = figure([run["cpu_s"] for run in kept])
    return Row(
        runs=len(kept),
        dropped=len(runs) - len(kept),
        disturbed=disturbed,
        rate=each("samples", "seconds"),
        cpu=cpu,
        first=figure([run["first_s"] for run in kept]),
        memory=figure([float(run["memory_bytes"]) for run in kept]),
        read=each("read_bytes", "samples"),
    )
