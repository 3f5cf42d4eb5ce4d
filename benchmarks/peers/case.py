"""What a workload and a peer are: descriptions that the runner and the child both read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .environments import PROJECT

FOREBAY = ("forebay.dataloader.loader", "forebay.formats.dataset")
"""What using forebay imports: `import forebay` alone puts it off, and others import all at once."""


class Unavailable(Exception):
    """A peer cannot do this here; says why. Its row in the table shows the reason."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a peer is asked for.

    Args:
        data: folder with one entry a format, made by the workload's corpus.
        batch: samples a batch.
        workers: threads or processes that a peer may use, for those that need a number.
        variant: of the workload: "float32" or "uint8" of images, else "".
        state: folder where a peer may keep caches; emptied before each run.
    """

    data: Path
    batch: int
    workers: int
    variant: str
    state: Path


@dataclass(frozen=True, slots=True)
class Ready:
    """What a peer gives back where work comes before the clock starts; `make` makes the loader."""

    make: Callable[[], Iterable[Any]]


Start = Callable[[Setting], "Iterable[Any] | Ready"]


@dataclass(frozen=True, slots=True)
class Peer:
    """One loader in one workload.

    Args:
        start: makes the loader. Each `iter()` of what it returns is an epoch of batches.
        environment: that it runs in.
        data: formats of the corpus that it reads; the first is what counts as its size on disk.
        imports: modules imported before the clock starts.
        text: its configuration and pitfalls, from the function's docstring.
    """

    name: str
    start: Start
    environment: str
    data: tuple[str, ...]
    imports: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A task that every peer does.

    Args:
        name: as the command takes it.
        title: one sentence for the page.
        unit: of a sample, plural.
        corpus: module of `corpus` that makes its data.
        batch: samples a batch.
        check: raises ValueError unless a batch is what the task asks for; returns its samples.
        samples: counts a batch; called for each batch, so it is cheap.
        once: measure the first batch alone, in place of a steady window.
        sample_bytes: bytes of one sample as delivered, where the rate is also told in MB/s.
    """

    name: str
    title: str
    unit: str
    corpus: str
    batch: int
    check: Callable[[Any, Setting], int]
    samples: Callable[[Any], int]
    variant: str = ""
    once: bool = False
    sample_bytes: int = 0
    peers: dict[str, Peer] = field(default_factory=dict)

    def peer(
        self,
        *data: str,
        environment: str = PROJECT,
        imports: tuple[str, ...] = (),
    ) -> Callable[[Start], Start]:
        """Registers a function as the peer of its own name, underscores as hyphens."""

        def register(start: Start) -> Start:
            name = start.__name__.replace("_", "-")
            text = " ".join((start.__doc__ or "").split())
            if not text:
                raise ValueError(f"peer {name} of {self.name} needs a docstring: its configuration")
            self.peers[name] = Peer(name, start, environment, data, imports, text)
            return start

        return register


class Epochs:
    """An iterable whose every `iter()` calls `make` with the number of the epoch, from 0."""

    def __init__(self, make: Callable[[int], Iterable[Any]]) -> None:
        self._make = make
        self._next = 0

    def __iter__(self) -> Any:
        epoch, self._next = self._next, self._next + 1
        return iter(self._make(epoch))
