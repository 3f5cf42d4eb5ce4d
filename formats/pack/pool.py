"""Worker processes: shards written side by side, none of which outlives its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from typing import TYPE_CHECKING

from forebay.formats.errors import UnfinishedDataset
from forebay.formats.pack.shard_task import ShardTask, write_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from forebay.formats.pack.journal import DoneShard

_TICK_S = 0.2


def write_all(
    tasks: Sequence[ShardTask],
    workers: int,
    done: Callable[[DoneShard], None],
    tick: Callable[[], None],
) -> None:
    """Writes every shard, in this process if one worker is enough.

    Args:
        tasks: one a shard.
        workers: processes, at most; at least 1.
        done: called with each shard once it is durable, in this process.
        tick: called several times a second.

    Raises:
        UnfinishedDataset: a worker died.
        SourceError, SchemaError, ShardError, OSError: as `write_shard`, from the first that failed.
    """
    if workers == 1 or len(tasks) <= 1:
        for task in tasks:
            done(write_shard(task, tick))
            tick()
        return
    # Spawned, not forked: a fork copies locks that other threads of this process may hold.
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        min(workers, len(tasks)), mp_context=context, initializer=_watch, initargs=(reader,)
    )
    try:
        _run(pool, tasks, 2 * workers, done, tick)
    except BrokenProcessPool as e:
        raise UnfinishedDataset(
            "a worker process died, perhaps for want of memory: pack again to go on where it "
            "stopped, with fewer workers or smaller shards"
        ) from e
    finally:
        # Workers see the pipe end and stop at once, whatever they are doing.
        writer.close()
        pool.shutdown(wait=True, cancel_futures=True)
        reader.close()


def _run(
    pool: ProcessPoolExecutor,
    tasks: Sequence[ShardTask],
    ahead: int,
    done: Callable[[DoneShard], None],
    tick: Callable[[], None],
) -> None:
    waiting = iter(tasks)
    running: set[Future[DoneShard]] = set()
    more = True
    while more or running:
        with _interrupts_held():
            # A few ahead are enough: each task names all files of its shard.
            while more and len(running) < ahead:
                task = next(waiting, None)
                if task is None:
                    more = False
                else:
                    running.add(pool.submit(write_shard, task))
        finished, running = wait(running, _TICK_S, FIRST_COMPLETED)
        for future in finished:
            done(future.result())
        tick()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes started inside never see SIGINT: their parent stops them, without tracebacks."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(reader: Connection) -> None:
    """Ends this process when its parent closes the pipe, or is gone."""

    def stop() -> None:
        parent = multiprocessing.parent_process()
        ends: list[Connection | int] = [reader]
        if parent is not None:
            ends.append(parent.sentinel)
        wait_for(ends)
        os._exit(1)

    threading.Thread(target=stop, name="forebay-parent-watch", daemon=True).start()
