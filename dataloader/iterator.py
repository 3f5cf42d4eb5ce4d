"""One pass over an epoch: what `iter(loader)` gives."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from forebay.dataloader.batch.stage import About
from forebay.dataloader.course import Course
from forebay.dataloader.cursor import Position
from forebay.dataloader.flow.runner import Runner
from forebay.dataloader.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """What an iterator shares with its loader.

    Args:
        build: a run of an epoch from a position on, not started.
        note: is told of each batch before it is handed out, what part of a ticket it is, and which;
            it may refuse it.
        began: is told that a pass begins.
    """

    course: Course
    progress: Progress
    build: Callable[[Position], Runner]
    note: Callable[[About, int], None]
    began: Callable[[], None]


class EpochIterator:
    """One pass over an epoch. Closes on its end, on an error, and when it is dropped."""

    def __init__(self, ties: Ties) -> None:
        self._ties = ties
        self._runner = self._begin()

    def __iter__(self) -> EpochIterator:
        return self

    def __next__(self) -> Any:
        start, ties = perf_counter(), self._ties
        if not self._runner.stopped:
            self._follow()
        try:
            batch, n, part, about = next(self._runner)
            try:
                ties.note(about, part)
            except BaseException as e:
                self._runner.end_by(e)
                raise
        except BaseException:
            ties.progress.ended(perf_counter() - start)
            raise
        ties.course.delivered(about.ticket, part)
        ties.progress.delivered(n, perf_counter() - start)
        return batch

    def close(self) -> None:
        """Ends the pass: its threads have stopped and its memory is free when this returns."""
        self._runner.close()
        self._ties.progress.ended(0.0)

    def _follow(self) -> None:
        """Goes where the loader was sent in the midst of the pass."""
        course = self._ties.course
        if course.moved:
            self._runner.close()
            self._runner = self._begin()
        elif (at := course.again()) is not None:
            self._runner.close()
            self._runner = self._start(self._ties.build(at))

    def _begin(self) -> Runner:
        runner = self._ties.build(self._ties.course.begin())
        self._ties.progress.began()
        self._ties.began()
        return self._start(runner)

    def _start(self, runner: Runner) -> Runner:
        runner.end_with(self)
        weakref.finalize(self, runner.drop)
        # Not before: an interrupt in between would leave threads that nobody ends.
        runner.start()
        return runner
