"""The runner: threads that take tasks from the line, and the consumer that takes batches.

The only loop of the house. It alone decides what a fault, a failure or a close leads to. Long,
because what threads, the consumer and a finalizer do under one lock has to be read side by side.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.errors import LoaderClosed, SampleError, StageFailed
from forebay.dataloader.flow.fault import UnlikeSamples, fault_at
from forebay.dataloader.flow.line import Flight, Line, LoadTask, SealTask, SliceTask, Task
from forebay.dataloader.flow.mend import Mender
from forebay.dataloader.flow.stage import Batch, Decode, Device, Fetch
from forebay.dataloader.flow.watch import stacks
from forebay.dataloader.flow.without import without
from forebay.telemetry.meter import Board, Meter

log = logging.getLogger("forebay")

REPORT_AFTER_S = 60.0
JOIN_S = 30.0
DROP_S = 5.0
_NOTHING, _END = object(), object()


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The rooms of one run, in the order of the flow."""

    fetch: Fetch
    decode: Decode
    batch: Batch
    device: Device


class Runner:
    """One run over an epoch's tickets.

    Args:
        line: the tickets and their bookkeeping.
        threads: that work; with 0 the consumer does the work inside `next`.
        where: (shard, record) of a (block, row of it), for messages.
        lease: of the budget, that the stages charge to; closed with the run.
        mender: of tickets with faults; None ends the run at the first.

    Threads hold the runner, never the iterator that owns it, so that an iterator dropped by its
    consumer is collected and closes its runner.
    """

    def __init__(
        self,
        line: Line,
        stages: Stages,
        threads: int,
        board: Board,
        where: Callable[[int, int], tuple[str, int]],
        lease: Budget,
        mender: Mender | None = None,
    ) -> None:
        self._mender = mender
        self._line = line
        self._stages = stages
        self._board = board
        self._where = where
        self._lease = lease
        self._lock = threading.Lock()
        # What idle threads wait on: None calls one to look for work, anything else says that the
        # iterator is gone. A queue and no condition, since `put` is safe in a finalizer.
        self._calls: SimpleQueue[Any] = SimpleQueue()
        self._idle = self._called = 0
        self._watched: weakref.ref[Any] | None = None
        # What the consumer waits on: unlocked when there is something to look at. No condition,
        # since an interrupt inside its wait can release the lock that a thread of ours holds.
        self._bell = threading.Lock()
        self._bell.acquire()
        self._serving: Flight | None = None
        # Batches of the flight that is served, all but its last: taken without the lock.
        self._served: deque[Any] = deque()
        self._failure: BaseException | None = None
        self._finished_tasks = 0
        self._started = False
        self._stopped = False
        self._freed = False
        self._abandoned = False
        self._ended = False
        self._alive = 0
        self._error: BaseException | None = None
        self._process = os.getpid()
        for stage in (stages.fetch, stages.decode, stages.batch, stages.device):
            stage.open()
        self._threads = [
            threading.Thread(target=self._loop, name=f"forebay-{i}", daemon=True)
            for i in range(threads)
        ]

    @property
    def stopped(self) -> bool:
        """Whether it gives no more batches."""
        return self._stopped

    def start(self) -> None:
        """Starts the threads, unless they were; whoever calls it must see to `close`."""
        if not self._started:
            self._started = True
            for thread in self._threads:
                self._alive += 1
                thread.start()

    def end_with(self, owner: object) -> None:
        """Ends the threads once this object is gone, whatever becomes of its other finalizers.

        `put` itself is the callback: no Python code runs that an interrupt could tear.
        """
        self._watched = weakref.ref(owner, self._calls.put)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next batch in step order, as the device stage left it.

        Raises:
            StopIteration: the epoch is over.
            SampleError: a sample of it is at fault.
            StageFailed: a stage failed for another reason than damage.
            LoaderClosed: an earlier call raised one of these, or the process was forked.
        """
        if os.getpid() != self._process:
            raise LoaderClosed(
                f"this iterator works in process {self._process}, not in its fork {os.getpid()}; "
                "start a new one from a loader made in this process"
            )
        if self._stopped:
            if self._error is not None:
                raise LoaderClosed(
                    f"this iterator was closed by an earlier error ({self._error}); "
                    "start a new one from the loader"
                ) from self._error
            raise StopIteration
        try:
            if self._served and self._failure is None:
                try:
                    return self._served.popleft()
                except IndexError:
                    pass  # Another consumer was faster.
            self.start()
            batch = self._take() if self._threads else self._take_alone()
            if batch is _END:
                self._ended = True
                self.close()
                raise StopIteration
            return batch
        except StopIteration:
            raise
        except BaseException as e:
            self._error = e
            self.close()
            raise

    def _next_batch(self) -> Any:
        """The next batch if it is there, else _NOTHING, or _END. Under the run's lock."""
        flight = self._serving
        if flight is None:
            flight = self._serving = self._line.take_head()
            if flight is None:
                return _END if self._line.empty else _NOTHING
            while len(flight.batches) > 1:
                self._served.append(flight.batches.popleft())
        try:
            return self._served.popleft()
        except IndexError:
            pass  # What is left of the flight is its last batch, or a fault.
        if not flight.batches:
            raise self._sample_error(flight)
        batch = flight.batches.popleft()
        if not flight.batches and not flight.faults:
            # Its bytes are the consumer's now, so there is room for another flight.
            self._serving = None
            self._line.delivered(flight)
            self._call_idle()
        return batch

    def close(self) -> None:
        """Ends the threads, then frees everything. Safe to call twice and from any thread."""
        # A fork has none of the threads, but maybe the lock as one of them held it.
        if os.getpid() != self._process:
            return
        try:
            self._end()
        except BaseException:
            # Of an interrupt in between nobody would call us again.
            self._end()
            raise

    def end_by(self, error: BaseException) -> None:
        """Closes since the consumer's side found an error; later calls of `next` name it."""
        self._error = error
        self.close()

    def drop(self) -> None:
        """Closes for a finalizer, which may run anywhere: it takes no lock and waits not for long.

        The collector can drop an iterator inside any code of any thread: in one of ours, or while
        that thread holds a lock (of a meter, of the budget) that our threads wait for. Then the run
        is left to its threads: they end, and the last one frees it.
        """
        if os.getpid() != self._process:
            return
        self._abandoned = True
        self._stages.decode.stop()
        for _ in self._threads:
            self._calls.put(self)
        if threading.current_thread() in self._threads:
            return
        self._join_all(DROP_S)
        if not any(thread.is_alive() for thread in self._threads):
            self._free()

    def _end(self) -> None:
        with self._lock:
            if self._freed:
                return
            self._stop()
        self._join_all(JOIN_S)
        if any(thread.is_alive() for thread in self._threads):
            log.warning(
                "threads still work %.0f s after their loader was closed:\n%s", JOIN_S, stacks()
            )
        self._free()

    def _stop(self) -> None:
        """Under the run's lock."""
        self._stopped = True
        self._stages.decode.stop()
        self._call_idle()
        self._ring()

    def _join_all(self, seconds: float) -> None:
        deadline = perf_counter() + seconds
        for thread in self._threads:
            try:
                thread.join(max(0.0, deadline - perf_counter()))
            except RuntimeError:
                # It has not started: an interrupt came first. If it ever does, it ends at once.
                continue

    def _free(self) -> None:
        with self._lock:
            if self._freed:
                return
            self._freed = True
            self._serving = None
            self._served.clear()
            self._line.clear()
        s = self._stages
        for stage in (s.device, s.batch, s.decode, s.fetch):
            stage.close()
        self._lease.close()

    def _ring(self) -> None:
        """Wakes a consumer. Under the run's lock."""
        if self._bell.locked():
            self._bell.release()

    def _call_idle(self) -> None:
        """Calls every thread that waits for work. Under the run's lock."""
        for _ in range(self._idle - self._called):
            self._calls.put(None)
        self._called = self._idle

    def _take(self) -> Any:
        seen, since = self._finished_tasks, perf_counter()
        while True:
            with self._lock:
                self._raise_failure()
                if self._stopped:
                    self._ring()
                    if self._ended:
                        return _END
                    raise LoaderClosed(
                        "this iterator was closed by another thread while this one waited for a "
                        "batch, so the epoch is not complete"
                    )
                batch = self._next_batch()
                if batch is not _NOTHING:
                    # Another consumer may wait too, and one ring stands for several events.
                    self._ring()
                    return batch
            self._bell.acquire(timeout=REPORT_AFTER_S)
            if self._finished_tasks != seen:
                seen, since = self._finished_tasks, perf_counter()
            elif perf_counter() - since >= REPORT_AFTER_S:
                waited, since = perf_counter() - since, perf_counter()
                log.warning("no task has finished for %.0f s:\n%s", waited, stacks())

    def _take_alone(self) -> Any:
        while True:
            with self._lock:
                self._raise_failure()
                batch = self._next_batch()
                if batch is not _NOTHING:
                    return batch
                task = self._pick()
            if task is not None:
                self._run(task)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _sample_error(self, flight: Flight) -> SampleError:
        first = flight.faults[min(flight.faults)]
        shard, record = self._where(first.block, first.row)
        error = SampleError(
            first.position, shard, record, first.stage, first.told, len(flight.faults) - 1
        )
        error.__cause__ = first.cause
        return error

    def _loop(self) -> None:
        meter = self._board["threads"]
        while (task := self._next_task(meter)) is not None:
            self._run(task)
        with self._lock:
            self._alive -= 1
            self._call_idle()
            last = self._abandoned and self._alive == 0
        if last:
            self._free()

    def _next_task(self, meter: Meter) -> Task | None:
        """Waits for a task; None when there is no more."""
        while True:
            with self._lock:
                if self._stopped or self._abandoned or self._failure:
                    return None
                task = self._pick()
                if task is not None or self._failure:
                    return task
                # What this thread admitted may already be all there is to deliver.
                self._ring()
                self._idle += 1
                full, start = self._line.full, perf_counter()
            call = self._calls.get()
            waited = perf_counter() - start
            with self._lock:
                self._idle -= 1
                if call is None:
                    self._called -= 1
                else:
                    self._abandoned = True
                    self._call_idle()
            if full:
                meter.add(wait_output_s=waited)
            else:
                meter.add(wait_input_s=waited)

    def _pick(self) -> Task | None:
        try:
            return self._line.pick()
        except BaseException as e:
            if not self._threads and not isinstance(e, Exception):
                raise
            self._failure = self._failure or _stage_failed("reading what a batch will cost", e)
            self._call_idle()
            self._ring()
            return None

    def _run(self, task: Task) -> None:
        try:
            match task:
                case LoadTask():
                    self._load(task)
                case SliceTask():
                    self._decode(task)
                case SealTask():
                    self._seal(task)
        except BaseException as e:
            if not self._threads and not isinstance(e, Exception):
                # The consumer's own interrupt, not the end of a thread.
                raise
            with self._lock:
                self._failure = self._failure or self._failed(e, task)
        with self._lock:
            self._finished_tasks += 1
            self._call_idle()
            self._ring()

    def _load(self, task: LoadTask) -> None:
        fetch, resident = self._stages.fetch, task.resident
        block: Any = None
        nbytes = 0
        error: Exception | None = None
        try:
            with self._board["fetch"].span() as span:
                block, nbytes = fetch.run(resident.key, task.rows)
                span.items = 1
        except fetch.damage as e:
            error = e
        with self._lock:
            self._line.loaded(task, block, nbytes, error)

    def _decode(self, task: SliceTask) -> None:
        piece, failed = task.pending.slice, task.failed
        slot = task.pending.flight.slot
        assert slot is not None, "a slice is ready only after its slot was allocated"
        with self._board["decode"].span() as span:
            faults = self._stages.decode.run(piece, task.blocks, slot)
            span.items = len(piece.places)
        if failed:  # else the loads of a slice, of which there may be hundreds, are not looked at
            faults += [
                fault_at(piece.ticket, int(place), "fetch", error)
                for key, places, _ in piece.runs()
                if (error := failed.get(key)) is not None
                for place in places
            ]
        with self._lock:
            self._line.decoded(task, faults)

    def _seal(self, task: SealTask) -> None:
        flight, stages = task.flight, self._stages
        if flight.faults and flight.slot is not None and self._mender is not None:
            with self._board["mend"].span() as span:
                flight.ticket = self._mender.mend(flight.ticket, flight.slot, flight.faults)
                span.items = len(flight.faults)
            flight.faults = {}
        first_fault = min(flight.faults, default=len(flight.ticket))
        batches: list[Any] = []
        # A batch with a fault ends in an exception; the ones before it are delivered.
        whole = sum(part.stop <= first_fault for part in flight.ticket.parts)
        if flight.slot is not None and flight.slot.left_out:
            flight.ticket = without(flight.ticket, flight.slot, {})
        ticket, slot = flight.ticket, flight.slot
        if slot is not None:
            with self._board["batch"].span() as span:
                try:
                    sealed = stages.batch.run(ticket, whole, slot)
                except UnlikeSamples as e:
                    sealed, flight.faults = e.sealed, {e.fault.place: e.fault}
                span.items = len(ticket)
            with self._board["device"].span() as span:
                batches = stages.device.run(sealed, slot)
                span.items = len(ticket)
        with self._lock:
            self._line.sealed(flight, batches)

    def _failed(self, e: BaseException, task: Task) -> StageFailed:
        """The exception to raise in the consumer for what ended a thread's task."""
        match task:
            case LoadTask():
                shard, record = self._where(*task.first)
                what = f"fetch of shard {shard} (records from {record} on)"
            case SliceTask():
                what = f"decode of a part of step {task.pending.slice.ticket.step}"
            case SealTask():
                what = f"batch of step {task.flight.ticket.step}"
        return _stage_failed(what, e)


def _stage_failed(what: str, e: BaseException) -> StageFailed:
    failure = StageFailed(
        f"{what} failed: {type(e).__name__}: {e}; this is no damage of a sample: mend the cause "
        "and start a new iterator"
    )
    failure.__cause__ = e
    return failure
