"""Counters and spans: what each stage did, waited for and moved."""

from __future__ import annotations

import threading
from time import perf_counter
from types import TracebackType
from typing import Self

from forebay.telemetry.stats import StageStats


class Meter:
    """Sums of one stage. Safe to use from several threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._calls = 0
        self._items = 0
        self._bytes = 0
        self._work_s = 0.0
        self._wait_input_s = 0.0
        self._wait_output_s = 0.0

    def add(
        self,
        *,
        calls: int = 0,
        items: int = 0,
        nbytes: int = 0,
        work_s: float = 0.0,
        wait_input_s: float = 0.0,
        wait_output_s: float = 0.0,
    ) -> None:
        """Adds to the sums; seconds are wall time of one thread."""
        with self._lock:
            self._calls += calls
            self._items += items
            self._bytes += nbytes
            self._work_s += work_s
            self._wait_input_s += wait_input_s
            self._wait_output_s += wait_output_s

    def span(self) -> Span:
        """Times a `with` block as one call's work."""
        return Span(self)

    def stats(self) -> StageStats:
        """The sums as they are now."""
        with self._lock:
            return StageStats(
                name=self.name,
                calls=self._calls,
                items=self._items,
                bytes=self._bytes,
                work_s=self._work_s,
                wait_input_s=self._wait_input_s,
                wait_output_s=self._wait_output_s,
            )


class Span:
    """One timed piece of work; set `items` and `nbytes` inside the block."""

    __slots__ = ("_meter", "_start", "items", "nbytes")

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._start = 0.0
        self.items = 0
        self.nbytes = 0

    def __enter__(self) -> Self:
        self._start = perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._meter.add(
            calls=1, items=self.items, nbytes=self.nbytes, work_s=perf_counter() - self._start
        )


class Board:
    """The meters of one loader, by stage name, made on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._meters: dict[str, Meter] = {}

    def __getitem__(self, name: str) -> Meter:
        with self._lock:
            meter = self._meters.get(name)
            if meter is None:
                meter = self._meters[name] = Meter(name)
            return meter

    def stages(self) -> tuple[StageStats, ...]:
        """The sums of every stage, in the order in which they first appeared."""
        with self._lock:
            meters = list(self._meters.values())
        return tuple(m.stats() for m in meters)
