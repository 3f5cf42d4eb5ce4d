"""Results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .case import Workload
from .corpus.make import Format
from .summary import Figure, Row, summarise

OURS = "forebay"


def table(workload: Workload, result: Mapping[str, Any]) -> str:
    """One row a peer, the fastest or soonest first, then those that were skipped and why."""
    most = result["plan"]["others_most"]
    rows = {name: summarise(runs, most) for name, runs in result["runs"].items()}
    order = sorted(rows, key=lambda n: _rank(rows[n]))
    head = _head(workload)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in order:
        cells = _cells(name, rows, workload, result)
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        f"| {name} | skipped: {why.replace('|', '/')} |" + " |" * (len(head) - 2)
        for name, why in result["skipped"].items()
    ]
    return "\n".join([workload.title + ".", "", *lines, "", *_notes(rows)])


def _rank(row: Row) -> float:
    return -row.rate.median if row.rate else row.first.median


def _head(workload: Workload) -> list[str]:
    if workload.once:
        return ["peer", "first batch s", "spread", "CPU s", "memory GB", "runs"]
    return [
        "peer",
        f"{workload.unit}/s",
        "spread",
        *(["MB/s"] if workload.sample_bytes else []),
        f"{OURS} is",
        "CPU us a sample",
        "first batch s",
        "memory GB",
        "read kB a sample",
        "on disk MB",
        "runs",
    ]


def _cells(
    name: str, rows: Mapping[str, Row], workload: Workload, result: Mapping[str, Any]
) -> list[str]:
    row = rows[name]
    runs = f"{row.runs}" + (f" (-{row.dropped})" if row.dropped else "")
    runs += " *" if row.disturbed else ""
    memory = f"{row.memory.median / 1e9:.2f}"
    if workload.once:
        first = [f"{row.first.median:.2f}", f"{row.first.spread:.0%}"]
        return [name, *first, _number(row.cpu, 1.0, 2), memory, runs]
    if row.rate is None:
        raise ValueError(f"the runs of {name} in {workload.name} counted no sample")
    data = workload.peers[name].data
    disk = result["disk"].get(data[0]) if data else None
    each = [f"{row.rate.median * workload.sample_bytes / 1e6:,.0f}"]
    return [
        name,
        f"{row.rate.median:,.0f}",
        f"{row.rate.spread:.0%}",
        *(each if workload.sample_bytes else []),
        _ratio(rows.get(OURS), row),
        _number(row.cpu, 1e6, 2),
        f"{row.first.median:.2f}",
        memory,
        _number(row.read, 1e-3, 2),
        f"{disk / 1e6:,.0f}" if disk is not None else "-",
        runs,
    ]


def _ratio(ours: Row | None, row: Row) -> str:
    if ours is None or ours.rate is None or row.rate is None or ours is row:
        return "-"
    return f"{ours.rate.median / row.rate.median:.2f}x"


def _number(value: Figure | None, scale: float, digits: int) -> str:
    if value is None:
        return "-"
    number = value.median * scale
    return f"{number:,.{digits}f}" if number < 100 else f"{number:,.0f}"


def _notes(rows: Mapping[str, Row]) -> list[str]:
    dropped = sum(row.dropped for row in rows.values())
    notes = [f"Runs that other processes disturbed and that do not count: {dropped}."]
    if any(row.disturbed for row in rows.values()):
        notes.append("* every run was disturbed; the figure is that of the quietest.")
    return notes


def sizes(disk: Mapping[str, int], known: Mapping[str, Format], originals: str) -> str:
    """Bytes on disk of each format, of as many samples as it holds, and against the originals'.

    Args:
        known: the formats of the corpus; one that is no longer among them is left out.
        originals: the format that counts as 1.
    """
    head = ("format", "what", "MB", "holds", "a sample, of the originals")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    whole = {name: size / known[name].part for name, size in disk.items() if name in known}
    base = whole.get(originals)
    for name, size in sorted(whole.items(), key=lambda item: item[1]):
        share = f"{size / base:.3f}" if base else "-"
        form = known[name]
        cells = (name, form.text, f"{disk[name] / 1e6:,.1f}", f"{form.part:.0%}", share)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
