"""What going on from a cursor costs: `python -m benchmarks.resumed [--json] [--records N,M]`.

A loader is made and gives its first batch, at the beginning of an epoch and after the cursor of its
middle was loaded, in turn. Datasets are those of `benchmarks.flat`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import forebay as fb

from .flat import ORDERS, write

EXAMPLE = """example:
  python -m benchmarks.resumed --records 1000,10000000 --data /var/tmp/flat
"""


@dataclass(frozen=True, slots=True)
class Result:
    """One size in one order: medians over the rounds, from the loader's construction to its batch.

    Args:
        state_us: what the cursor took to be made, in microseconds.
        state_bytes: of the cursor as JSON.
    """

    records: int
    order: str
    beginning_ms: float
    middle_ms: float
    state_us: float
    state_bytes: int

    @property
    def ratio(self) -> float:
        """The middle over the beginning."""
        return self.middle_ms / self.beginning_ms


class Case:
    """One size in one order, and the cursor of the middle of its first epoch."""

    def __init__(self, folder: Path, order: str, memory: str) -> None:
        self._dataset = fb.open_dataset(folder, columns=["x", "ids"])
        self._order, self._memory = order, memory
        loader = self._make()
        loader.seek(0, len(loader) // 2)
        start = time.perf_counter()
        self._state = loader.state_dict()
        self._state_us = (time.perf_counter() - start) * 1e6
        self._beginning: list[float] = []
        self._middle: list[float] = []

    def _make(self) -> Any:
        decode: dict[str, Any] = {"ids": fb.transforms.Pad()}
        return fb.DataLoader(
            self._dataset, 256, self._order, seed=0, memory=self._memory, decode=decode
        )

    def first(self, state: Mapping[str, Any] | None = None) -> float:
        """Seconds from making a loader to its first batch, from a cursor on where one is given."""
        start = time.perf_counter()
        loader = self._make()
        if state is not None:
            loader.load_state_dict(state)
        batches = iter(loader)
        next(batches)
        return time.perf_counter() - start

    def measure(self) -> None:
        """One round of each."""
        self._beginning.append(self.first())
        self._middle.append(self.first(self._state))

    def result(self) -> Result:
        """Medians over the rounds measured."""
        return Result(
            len(self._dataset),
            self._order,
            median(self._beginning) * 1e3,
            median(self._middle) * 1e3,
            self._state_us,
            len(json.dumps(self._state)),
        )


def measure(folder: Path, records: Sequence[int], rounds: int, memory: str) -> list[Result]:
    """Writes the datasets that `folder` lacks, and measures every size in every order, in turn."""
    cases: list[Case] = []
    for count in records:
        place = folder / f"{count}"
        if not place.exists():
            write(place, count)
        cases += [Case(place, order, memory) for order in ORDERS]
    # The first of all loads what later ones find loaded.
    for case in cases:
        case.first()
    for _ in range(rounds):
        for case in cases:
            case.measure()
    return [case.result() for case in cases]


def table(results: Sequence[Result]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| records | order | first batch at 0, ms | at 50 %, ms | ratio | cursor us | bytes |"
    yield "|---:|---|---:|---:|---:|---:|---:|"
    for r in results:
        yield (
            f"| {r.records:,} | {r.order} | {r.beginning_ms:.1f} | {r.middle_ms:.1f} | "
            f"{r.ratio:.2f} | {r.state_us:.0f} | {r.state_bytes} |"
        )


def main(given: Sequence[str] | None = None) -> int:
    """Measures and prints. `given`: arguments; those of the command line when left out."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.resumed",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--records", default="1000,10000000", help="sizes, separated by commas")
    parser.add_argument("--data", type=Path, help="folder to keep the datasets in, 0.6 GB in all")
    parser.add_argument("--rounds", type=int, default=21, help="the median counts")
    parser.add_argument("--memory", default="4GB", help="of the loader")
    parser.add_argument("--json", action="store_true", help="print JSON rather than a table")
    a = parser.parse_args(given)
    try:
        records = [int(text) for text in a.records.split(",")]
    except ValueError:
        parser.error(f"--records must be whole numbers separated by commas, got {a.records!r}")
    if min(records) < 1 or a.rounds < 1:
        parser.error("--records and --rounds must be at least 1")
    with tempfile.TemporaryDirectory(prefix="forebay-resumed-") as temporary:
        results = measure(a.data or Path(temporary), records, a.rounds, a.memory)
    if a.json:
        print(json.dumps([asdict(r) | {"ratio": r.ratio} for r in results], indent=1))
    else:
        print("\n".join(table(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
