"""The workloads by name. A peer's module loads only what the standard library has until it runs."""

from __future__ import annotations

import importlib

from .case import Workload

MODULES = {
    "images": "images",
    "images-uint8": "images",
    "records": "records",
    "tokens": "tokens",
    "tabular": "tabular",
    "tables": "tables",
    "startup": "startup",
    "resume": "resume",
}


def load(name: str) -> Workload:
    """The workload of this name, with its peers.

    Raises:
        ValueError: there is none.
    """
    if name not in MODULES:
        raise ValueError(f"no workload {name!r}; there are {', '.join(MODULES)}")
    module = importlib.import_module(f".{MODULES[name]}", __package__)
    found: dict[str, Workload] = {w.name: w for w in module.WORKLOADS}
    return found[name]
