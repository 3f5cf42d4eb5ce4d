"""What a sample costs as a dataset grows: `python -m benchmarks.flat [--json] [--most 10000000]`.

Datasets of 1,000, 10,000 and so on up to --most records go through the loader, a 4-byte number and
4 to 12 int32 tokens each, uncompressed RecordIO, batches of 256 padded. Whole epochs are timed, so
that the start of each counts. A flat row means that nothing grows faster than the records.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import forebay as fb
from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.writer import ShardWriter

LEAST = 1_000
AGAINST = 100_000
ORDERS = ("full", "window")
FIELDS = {"x": "int32", "ids": "int32[*]"}
LENGTHS = (4, 12)
CHUNK = 65_536

EXAMPLE = """example:
  python -m benchmarks.flat --most 1000000 --data /var/tmp/flat --json > flat.json
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how often each case is measured.

    Args:
        batch: samples a batch.
        seconds: whole epochs are repeated until this has passed.
        rounds: times that every case is measured, in turn; the median counts.
        memory: of the loader. Blocks that fit are kept, and each is read once an epoch; with less,
            "full" reads single records, which is another way through the loader.
        workers: threads of the loader; None takes one a processor.
    """

    batch: int = 256
    seconds: float = 1.0
    rounds: int = 3
    memory: str = "4GB"
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One size in one order: medians over the rounds, a sample.

    Args:
        samples: delivered in all timed epochs, the short last batches included.
        first_us: from `iter()` to the first batch, in microseconds an epoch.
    """

    records: int
    order: str
    ns: float
    cpu_ns: float
    first_us: float
    epochs: int
    samples: int


def sizes(most: int) -> list[int]:
    """Powers of ten from LEAST to `most`.

    Raises:
        ValueError: `most` is less than LEAST.
    """
    if most < LEAST:
        raise ValueError(f"--most must be at least {LEAST}, got {most}")
    return [10**k for k in range(3, 20) if 10**k <= most]


def write(folder: Path, records: int) -> None:
    """A dataset whose record i has x = i, written as columns: rows of Python would take minutes."""
    generator = np.random.default_rng(0)
    with ShardWriter(folder, FIELDS, format="recordio", codec="none") as writer:
        for at in range(0, records, CHUNK):
            x = np.arange(at, min(at + CHUNK, records), dtype=np.int32)
            lengths = generator.integers(LENGTHS[0], LENGTHS[1] + 1, len(x))
            tokens = generator.integers(0, 50_257, int(lengths.sum()), dtype=np.int32)
            ids = VarColumn(tokens, np.cumsum(lengths) - lengths, lengths)
            columns: dict[str, Column] = {"x": FixedColumn(x), "ids": ids}
            writer.write_columns(Block(len(x), columns, x.nbytes + tokens.nbytes))


class Case:
    """One size in one order, with the loader that all of its epochs come from."""

    def __init__(self, folder: Path, order: str, plan: Plan) -> None:
        dataset = fb.open_dataset(folder, columns=["x", "ids"])
        self.records, self.order = len(dataset), order
        self._plan = plan
        decode: dict[str, Any] = {"ids": fb.transforms.Pad()}
        self._loader = fb.DataLoader(
            dataset,
            plan.batch,
            order,
            seed=0,
            num_workers=plan.workers,
            memory=plan.memory,
            decode=decode,
        )
        self._seconds: list[float] = []
        self._cpu: list[float] = []
        self._first: list[float] = []
        self._epochs = 0
        self._samples = 0

    def check(self) -> None:
        """One epoch without the clock, which also warms caches.

        Raises:
            RuntimeError: it is not each record once, with its padded tokens.
        """
        seen: NDArray[np.int64] = np.zeros(self.records, np.int64)
        for x, ids in self._loader:
            seen[x.numpy()] += 1
            if ids.shape[0] != len(x) or not LENGTHS[0] <= ids.shape[1] <= LENGTHS[1]:
                raise RuntimeError(f"{len(x)} records came with tokens of shape {ids.shape}")
        if not (seen == 1).all():
            raise RuntimeError(
                f"{self.records} records in order {self.order!r}: {int((seen == 0).sum())} never "
                f"came, {int((seen > 1).sum())} more than once"
            )

    def measure(self) -> None:
        """One round: whole epochs for at least the plan's seconds.

        Raises:
            RuntimeError: an epoch has not as many samples as the dataset has records.
        """
        samples = epochs = 0
        waited = 0.0
        start, cpu = time.perf_counter(), time.process_time()
        while time.perf_counter() - start < self._plan.seconds:
            began = time.perf_counter()
            batches = iter(self._loader)
            samples += len(next(batches)[0])
            waited += time.perf_counter() - began
            for batch in batches:
                samples += len(batch[0])
            epochs += 1
        took, cpu_took = time.perf_counter() - start, time.process_time() - cpu
        if samples != epochs * self.records:
            raise RuntimeError(f"{epochs} epochs of {self.records} records gave {samples} samples")
        self._seconds.append(took / samples)
        self._cpu.append(cpu_took / samples)
        self._first.append(waited / epochs)
        self._epochs += epochs
        self._samples += samples

    def result(self) -> Result:
        """Medians over the rounds measured."""
        return Result(
            self.records,
            self.order,
            median(self._seconds) * 1e9,
            median(self._cpu) * 1e9,
            median(self._first) * 1e6,
            self._epochs,
            self._samples,
        )


def measure(folder: Path, most: int, plan: Plan) -> list[Result]:
    """Writes the datasets that `folder` lacks, and measures every size in every order, in turn.

    Raises:
        ValueError: `most` is too small.
        RuntimeError: the loader did not deliver each record once.
    """
    cases: list[Case] = []
    for records in sizes(most):
        place = folder / f"{records}"
        if not place.exists():
            write(place, records)
        cases += [Case(place, order, plan) for order in ORDERS]
    for case in cases:
        case.check()
    for turn in range(plan.rounds):
        # The next round begins with another case, as what came before may matter.
        for case in cases[turn:] + cases[:turn]:
            case.measure()
    return [case.result() for case in cases]


def table(results: Sequence[Result]) -> Iterator[str]:
    """Lines of Markdown; `ratio` is what stands before it over that of AGAINST records."""
    base = {r.order: r for r in results if r.records == AGAINST}
    yield "| records | order | ns a sample | ratio | CPU ns a sample | ratio | first us | epochs |"
    yield "|---:|---|---:|---:|---:|---:|---:|---:|"
    for r in sorted(results, key=lambda r: (r.order, r.records)):
        by = base.get(r.order)
        time_ratio = f"{r.ns / by.ns:.2f}" if by else "-"
        cpu_ratio = f"{r.cpu_ns / by.cpu_ns:.2f}" if by else "-"
        yield (
            f"| {r.records:,} | {r.order} | {r.ns:.0f} | {time_ratio} | {r.cpu_ns:.0f} | "
            f"{cpu_ratio} | {r.first_us:.0f} | {r.epochs} |"
        )


def _arguments(given: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.flat",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    plan = Plan()
    parser.add_argument("--most", type=int, default=10_000_000, help="records of the largest size")
    parser.add_argument("--data", type=Path, help="folder to keep the datasets in, 0.6 GB in all")
    parser.add_argument("--json", action="store_true", help="print JSON rather than a table")
    parser.add_argument("--batch", type=int, default=plan.batch, help="samples a batch")
    parser.add_argument("--seconds", type=float, default=plan.seconds, help="of a round, at least")
    parser.add_argument("--rounds", type=int, default=plan.rounds, help="the median counts")
    parser.add_argument("--memory", default=plan.memory, help="of the loader")
    parser.add_argument("--workers", type=int, help="threads; one a processor when left out")
    arguments = parser.parse_args(given)
    if arguments.most < LEAST:
        parser.error(f"--most must be at least {LEAST}, got {arguments.most}")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Measures and prints. `given`: arguments; those of the command line when left out."""
    a = _arguments(given)
    plan = Plan(a.batch, a.seconds, a.rounds, a.memory, a.workers)
    with tempfile.TemporaryDirectory(prefix="forebay-flat-") as temporary:
        results = measure(a.data or Path(temporary), a.most, plan)
    if a.json:
        print(json.dumps({"plan": asdict(plan), "results": [asdict(r) for r in results]}, indent=1))
    else:
        print("\n".join(table(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
