"""How many threads a run gets when the user does not say."""

from __future__ import annotations

import os
from pathlib import Path

CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


def available_cpus() -> int:
    """Processors that this process may use: its affinity, cut by its cgroup's quota.

    Source of the quota: the kernel's cgroup v2 interface, `cpu.max` holds "quota period" in
    microseconds, or "max period".
    """
    cpus = len(os.sched_getaffinity(0))
    try:
        quota, period = CPU_MAX.read_text().split()[:2]
        share = cpus if quota == "max" else round(int(quota) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return cpus
    return max(1, min(cpus, share))
