"""Startup: the first batch after construction, torch and the peer's modules imported before."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .case import Setting
from .images import IMAGES, forebay_loader

STARTUP = replace(
    IMAGES,
    name="startup",
    title="First batch of the images task after construction, in a fresh process",
    once=True,
    peers=dict(IMAGES.peers),
)
WORKLOADS = (STARTUP,)


@STARTUP.peer("recordio", imports=("forebay",))
def forebay_cold(setting: Setting) -> Iterable[Any]:
    """As forebay, with an empty cache of compiled kernels, and with forebay's own modules imported
    within the time; the others' caches are warm."""
    os.environ["NUMBA_CACHE_DIR"] = str(setting.state)
    return forebay_loader(setting, "recordio")
