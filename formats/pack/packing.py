"""`pack`: from a source to a dataset."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.commit import commit
from forebay.formats.errors import (
    DatasetError,
    ForebayError,
    SourceError,
    StorageError,
    UnfinishedDataset,
)
from forebay.formats.pack.images import Change, Reencode, fallback, schema_of, settled
from forebay.formats.pack.journal import DoneShard, note
from forebay.formats.pack.plan import plan_of
from forebay.formats.pack.pool import write_all
from forebay.formats.pack.report import PackReport, Progress
from forebay.formats.pack.shard_task import COUNTS, ShardTask, Writing
from forebay.formats.pack.target import Target, check_apart, target_of
from forebay.formats.pack.trained import Trained, train
from forebay.formats.pack.work_folder import WorkFolder
from forebay.formats.sources.detect import detect
from forebay.formats.sources.source import Cut, CutRequest, Rejected, Source, nothing_left

if TYPE_CHECKING:
    from collections.abc import Callable

    from forebay.formats.manifest import Manifest
    from forebay.formats.pack.options import PackOptions


@dataclass(frozen=True, slots=True)
class Running:
    """How a pack runs; nothing here changes what it writes.

    Args:
        workers: processes that write; None is one for each CPU that this process may use.
        restart: forget what a stopped run left.
        progress: called several times a second while shards are written.
        reencode: turns an image's bytes into those of a smaller JPEG; needed by `resize`, must
            pickle, and raises SourceError for what it cannot decode.
    """

    workers: int | None = None
    restart: bool = False
    progress: Callable[[Progress], None] | None = None
    reencode: Reencode | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers must be at least 1, got {self.workers}")

    @property
    def processes(self) -> int:
        """Number of processes that write."""
        return self.workers or len(os.sched_getaffinity(0))


def pack(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    options: PackOptions,
    running: Running | None = None,
) -> PackReport:
    """Packs the source at `src` into a dataset at `dst`.

    The same inputs and options give the same bytes. Stopped at any moment, by a signal or a full
    disk, it leaves no dataset (or the one that was there), and a folder DST/.pack from which the
    same call goes on.

    Raises:
        SourceError: the inputs cannot be packed. Nothing is left behind, unless shards were
            finished already: those are kept, and the message says so.
        SchemaError: they do not fit together, or not the dataset appended to; likewise.
        StorageError: an input cannot be read for now, or a file not be written.
        DatasetError: the destination cannot be written to, or another writer came first.
        UnfinishedDataset: the destination holds an unfinished pack of other inputs or options, or
            a worker died.
        OSError: a file cannot be written.
    """
    running = running or Running()
    if options.resize is not None and running.reencode is None:
        raise ValueError("resize needs a reencode function in `running`")
    images = settled(options.images)
    started = time.monotonic()
    source_path, folder = Path(src), Path(dst)
    source = detect(source_path, options.source)
    check_apart(source_path, folder)
    target = target_of(folder, source, options, running.restart)
    order = options.order or ("shuffled" if source.shuffled else "source")
    created = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with WorkFolder(folder, created) as work:
        if running.restart:
            work.restart()
        try:
            done = work.begin(plan_of(source, target, options, order, images))
            one = _Pack(
                source, target, options, running, work, order, images, dict(done), len(done)
            )
            manifest = one.run()
        except (StorageError, UnfinishedDataset):
            # What there is may still be of use once the store works again.
            raise
        except DatasetError:
            # What is finished has names and a parent that no longer fit.
            work.remove()
            raise
        except ForebayError as e:
            if work.has_records():
                raise work.going_on(e) from e
            work.remove()
            raise
        report = one.report(manifest, time.monotonic() - started)
        work.remove()
    return report


@dataclass
class _Pack:
    """One run."""

    source: Source
    target: Target
    options: PackOptions
    running: Running
    work: WorkFolder
    order: str
    images: str
    done: dict[int, DoneShard]
    reused: int
    cut: Cut | None = None
    total: tuple[int, int] = (0, 0)
    counts: Path = field(init=False)

    def run(self) -> Manifest:
        seed = self.options.seed if self.order == "shuffled" else None
        request = CutRequest(self.options.shard_bytes, seed, self.work.path)
        self.cut = cut = self.source.cut(request)
        schema = schema_of(cut.schema, self.options)
        self.target.check(schema)
        self.total = (sum(j.records for j in cut.jobs), sum(j.nbytes for j in cut.jobs))
        trained = train(self.work.path, self.target, schema, cut.jobs, self.options.block_bytes)
        self.counts = self.work.run_path / "counts"
        self.counts.write_bytes(bytes(COUNTS.size * len(cut.jobs)))
        writing = Writing(
            schema,
            self.target.format,
            trained.codec,
            trained.dictionaries,
            self.options.block_bytes,
            Change(
                self.running.reencode if self.options.resize is not None else None,
                self.images == "seekable",
                self.options.keep_metadata,
            ),
            self.options.source.skip_bad,
            self.counts,
        )
        write_all(
            [
                ShardTask(n, self.target.stem(n), self.work.run_path, job, writing)
                for n, job in enumerate(cut.jobs)
                if n not in self.done
            ],
            self.running.processes,
            self._finished,
            self._tick,
        )
        return self._commit(writing, trained, len(cut.jobs))

    def _commit(self, writing: Writing, trained: Trained, shards: int) -> Manifest:
        if self.total[0] and not any(d.entry.records for d in self.done.values()):
            bad = [r for n in sorted(self.done) for r in self.done[n].rejected]
            raise SourceError(nothing_left(bad))
        staged = [(self.work.path / self.done[n].folder, self.done[n].entry) for n in range(shards)]
        return commit(
            self.target.folder,
            writing.schema,
            self.target.format,
            trained.codec,
            staged,
            trained.staged,
            self.target.generation - 1,
        )

    def _finished(self, shard: DoneShard) -> None:
        note(self.work.path, shard)
        self.done[shard.number] = shard

    def _tick(self) -> None:
        if self.running.progress is None or self.cut is None:
            return
        counts = np.fromfile(self.counts, np.int64).reshape(-1, 2)
        old = [j for n, j in enumerate(self.cut.jobs) if n in self.done and not counts[n, 1]]
        records = int(counts[:, 0].sum()) + sum(j.records for j in old)
        nbytes = int(counts[:, 1].sum()) + sum(j.nbytes for j in old)
        self.running.progress(
            Progress(
                min(records, self.total[0]),
                self.total[0],
                min(nbytes, self.total[1]),
                self.total[1],
                len(self.done),
                len(self.cut.jobs),
            )
        )

    def report(self, manifest: Manifest, seconds: float) -> PackReport:
        skipped: list[Rejected] = list(self.cut.rejected) if self.cut else []
        fates: Counter[str] = Counter()
        for number in sorted(self.done):
            skipped += self.done[number].rejected
            fates.update(self.done[number].images)
        note = fallback(self.options.images, manifest.schema)
        last = manifest.last
        return PackReport(
            path=str(self.target.folder),
            source=self.source.kind,
            format=manifest.format,
            codec=manifest.codec,
            order=self.order,
            generation=last.number,
            fingerprint=manifest.fingerprint,
            records=last.records,
            bytes=last.bytes,
            shards=last.shards,
            shards_reused=self.reused,
            skipped=tuple(skipped),
            images=self.images,
            image_fates=dict(sorted(fates.items())),
            notes=(note,) if note else (),
            workers=self.running.processes,
            seconds=seconds,
        )
