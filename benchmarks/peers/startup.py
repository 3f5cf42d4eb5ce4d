"""Startup: the first batch after construction, torch and the peer's modules imported before."""

from __future__ import annotations

from dataclasses import replace

from .images import IMAGES

STARTUP = replace(
    IMAGES,
    name="startup",
    title="First batch of the images task after construction, in a fresh process",
    once=True,
)
WORKLOADS = (STARTUP,)
