"""How far a loader is: epochs, batches and waits, as `stats()` tells them."""

from __future__ import annotations

from time import perf_counter

from forebay.dataloader.flow.budget import Budget
from forebay.telemetry.meter import Board
from forebay.telemetry.stats import LoaderStats


class Progress:
    """Counts what is delivered. Used from the consumer's thread alone."""

    def __init__(self, board: Board, budget: Budget, threads: int) -> None:
        self._board = board
        self._budget = budget
        self._threads = threads
        self._epochs = 0
        self._batches = 0
        self._samples = 0
        self._stall_s = 0.0
        self._wall_s = 0.0
        self._first_s = 0.0
        self._mark: float | None = None
        self._fresh = False

    def began(self) -> None:
        """An epoch starts now."""
        self._epochs += 1
        self._mark = perf_counter()
        self._first_s, self._fresh = 0.0, True

    def delivered(self, n: int, waited_s: float) -> None:
        """A batch of n samples is handed out, after the consumer waited so long for it."""
        now = perf_counter()
        if self._mark is not None:
            self._wall_s += now - self._mark
            if self._fresh:
                self._first_s, self._fresh = now - self._mark, False
        else:
            # Another iterator of the loader has ended meanwhile.
            self._wall_s += waited_s
        self._mark = now
        self._batches += 1
        self._samples += n
        self._stall_s += waited_s

    def ended(self, waited_s: float) -> None:
        """The epoch is over, after the consumer waited so long to learn it."""
        if self._mark is not None:
            self._wall_s += perf_counter() - self._mark
            self._stall_s += waited_s
        self._mark = None

    def stats(self) -> LoaderStats:
        """Everything so far."""
        stages = self._board.stages()
        read = next((s.bytes for s in stages if s.name == "read"), 0)
        unchecked = next((s.items for s in stages if s.name == "unchecked"), 0)
        return LoaderStats(
            epochs=self._epochs,
            batches=self._batches,
            samples=self._samples,
            threads=self._threads,
            wall_s=self._wall_s,
            stall_s=self._stall_s,
            first_batch_s=self._first_s,
            bytes_read=read,
            unchecked=unchecked,
            budget_limit=self._budget.limit,
            budget_peak=self._budget.peak,
            budget_overdrawn=self._budget.overdrawn,
            budget_by_account=self._budget.by_account(),
            stages=tuple(s for s in stages if s.name != "unchecked"),
        )
