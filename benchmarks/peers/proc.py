"""What the kernel says of a process tree and of the machine, from /proc.

Field numbers as in proc(5). Times are in clock ticks there, in seconds here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICK = 1.0 / os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Machine:
    """CPU seconds of all processors since boot: at work, stolen by the host, and in all."""

    busy: float
    stolen: float
    total: float


def machine() -> Machine:
    """The machine's counters now."""
    with open("/proc/stat") as file:
        return parse_machine(file.readline())


def parse_machine(line: str) -> Machine:
    """The counters in the first line of /proc/stat.

    Raises:
        ValueError: it is another line.
    """
    name, *numbers = line.split()
    if name != "cpu" or len(numbers) < 8:
        raise ValueError(f"the first line of /proc/stat should begin with 'cpu', got {line!r}")
    user, nice, system, idle, iowait, irq, softirq, steal = (int(n) * TICK for n in numbers[:8])
    # Time of guests is part of user and nice already.
    busy = user + nice + system + irq + softirq
    return Machine(busy, steal, busy + steal + idle + iowait)


def _stat(pid: int) -> list[str] | None:
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces; what follows it starts with the state, field 3.
    return text[text.rindex(")") + 2 :].split()


def tree(root: int) -> list[int]:
    """A process and its descendants; without `root` where it has ended."""
    children: dict[int, list[int]] = {}
    alive = set()
    for entry in os.listdir(PROC):
        if entry.isdigit() and (fields := _stat(int(entry))) is not None:
            children.setdefault(int(fields[1]), []).append(int(entry))
            alive.add(int(entry))
    found, todo = [], [root] if root in alive else []
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def cpu_seconds(pids: list[int]) -> float:
    """CPU time of these processes, and of their children that have ended and were waited for."""
    total = 0.0
    for pid in pids:
        if (fields := _stat(pid)) is not None:
            total += sum(int(n) for n in fields[11:15]) * TICK
    return total


def own_cpu_seconds(pid: int) -> float:
    """CPU time of one process without its children; 0 where it has ended."""
    fields = _stat(pid)
    return 0.0 if fields is None else sum(int(n) for n in fields[11:13]) * TICK


def read_bytes(pids: list[int]) -> int:
    """Bytes that these processes got from read system calls; pages of mapped files don't count."""
    return sum(_field(pid, "io", "rchar:") for pid in pids)


def held_bytes(pids: list[int]) -> int:
    """Anonymous and shared memory resident in these processes.

    A page that two of them map, after fork or by shared memory, counts twice.
    """
    return 1024 * sum(_field(p, "status", "RssAnon:", "RssShmem:") for p in pids)


def _field(pid: int, file: str, *names: str) -> int:
    try:
        text = (PROC / str(pid) / file).read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    rows = (line.split() for line in text.splitlines())
    return sum(int(row[1]) for row in rows if row and row[0] in names)
