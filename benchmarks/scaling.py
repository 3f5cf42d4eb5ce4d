"""What more threads give: `python -m benchmarks.scaling DATASET [--threads 1,2] [--json]`.

Decodes the photos of a packed dataset to 224 x 224 float32, as in training, with each number of
threads in turn. Other work on the machine changes from second to second, so that only cases
measured in turn can be compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import forebay as fb
from forebay.formats.dataset import ShardDataset

T = fb.transforms
EXAMPLE = """example:
  forebay pack photos packed && python -m benchmarks.scaling packed --threads 1,2,4
"""


@dataclass(frozen=True, slots=True)
class Result:
    """One number of threads: medians over the rounds.

    Args:
        rate: samples a second.
        cpu_us: processor time a sample, of all threads, in microseconds.
        speedup: the rate over that of the first number of threads.
    """

    threads: int
    rate: float
    cpu_us: float
    speedup: float


class Case:
    """One number of threads, with the loader of all its rounds."""

    def __init__(self, dataset: ShardDataset, field: str, threads: int, memory: str) -> None:
        image = fb.Image(
            T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize(*T.IMAGENET)
        )
        self.threads = threads
        self._field = field
        self._loader = fb.DataLoader(
            dataset, 64, True, seed=0, num_workers=threads, memory=memory, decode={field: image}
        )
        self._rates: list[float] = []
        self._cpu: list[float] = []

    def measure(self, seconds: float) -> None:
        """One round: batches for at least so many seconds, over epochs."""
        batches = self._endless()
        next(batches)
        samples, start, cpu = 0, time.perf_counter(), time.process_time()
        while (took := time.perf_counter() - start) < seconds:
            samples += next(batches)
        self._rates.append(samples / took)
        self._cpu.append((time.process_time() - cpu) / max(1, samples) * 1e6)
        batches.close()

    def result(self, first: float | None) -> Result:
        """Medians; `first` is the rate that speedups are over, this one's if None."""
        rate = median(self._rates)
        return Result(self.threads, rate, median(self._cpu), rate / (first or rate))

    def _endless(self) -> Generator[int, None, None]:
        while True:
            for batch in self._loader:
                yield len(batch[self._field])


def measure(folder: Path, threads: Sequence[int], rounds: int, seconds: float) -> list[Result]:
    """Results in the order of `threads`.

    Raises:
        ValueError: the dataset is empty, or has not one image field.
    """
    dataset = fb.open_dataset(folder)
    images = [f.name for f in dataset.schema if f.kind == "image"]
    if len(images) != 1 or not len(dataset):
        raise ValueError(f"{folder}: needs records with one image field, has {images}")
    cases = [Case(dataset, images[0], count, "1GB") for count in threads]
    for turn in range(rounds):
        for case in cases[turn % len(cases) :] + cases[: turn % len(cases)]:
            case.measure(seconds)
    first = cases[0].result(None)
    return [first, *(case.result(first.rate) for case in cases[1:])]


def table(results: Sequence[Result]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| threads | images/s | speed-up | CPU us an image |"
    yield "|---:|---:|---:|---:|"
    for r in results:
        yield f"| {r.threads} | {r.rate:,.0f} | {r.speedup:.2f} | {r.cpu_us:,.0f} |"


def _counts(text: str) -> list[int]:
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1:
        raise ValueError(text)
    return counts


def main(given: Sequence[str] | None = None) -> int:
    """Measures and prints. `given`: arguments; those of the command line when left out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scaling",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", type=Path, help="folder of a packed dataset with images")
    parser.add_argument("--threads", type=_counts, default=[1, 2], help="such as 1,2,4")
    parser.add_argument("--rounds", type=int, default=5, help="of each; the median counts")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round")
    parser.add_argument("--json", action="store_true", help="print JSON rather than a table")
    a = parser.parse_args(given)
    results = measure(a.dataset, a.threads, a.rounds, a.seconds)
    print(json.dumps([asdict(r) for r in results]) if a.json else "\n".join(table(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
