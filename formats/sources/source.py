"""What every source gives: a schema, a digest of its inputs, and shard-sized jobs.

A source is cut into jobs in the parent; each job is then read, wherever that is, into records or
blocks of columns. How it is cut depends on the inputs and the request alone, never on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.formats.column import Block
    from forebay.formats.record import Schema

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a user can say about the inputs; None where nothing was said.

    Args:
        labels: CSV file that names images and gives their other fields.
        dtype: NumPy name of the elements of `.bin` files.
        chunk_tokens: tokens of one record.
        eos: token that ends a document.
        skip_bad: leave out files that cannot be packed, and list them.
    """

    labels: Path | None = None
    dtype: str | None = None
    chunk_tokens: int | None = None
    eos: int | None = None
    skip_bad: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """An input that was left out, and why."""

    name: str
    why: str


def nothing_left(bad: Sequence[Rejected]) -> str:
    """What to say where all inputs were left out; names the first three."""
    named = "; ".join(f"{r.name}: {r.why}" for r in bad[:3])
    more = f"; and {len(bad) - 3} more" if len(bad) > 3 else ""
    return (
        f"nothing is left to pack: all {len(bad)} inputs are bad ({named}{more}); "
        "check that this is the right source"
    )


@dataclass(frozen=True, slots=True)
class CutRequest:
    """How to cut a source.

    Args:
        shard_bytes: bytes of values, uncompressed, that a job should hold.
        seed: of the shuffle; None keeps the source's order.
        stage: a folder in which the source may keep what it had to prepare. What an earlier cut
            of the same inputs left there is taken as it is.
    """

    shard_bytes: int
    seed: int | None
    stage: Path


class Job(Protocol):
    """The records of one shard; picklable."""

    @property
    def records(self) -> int:
        """Number of records, those included that turn out to be bad."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of input, about."""
        ...

    def read(self) -> Iterator[Record | Block]:
        """The records, in order, one by one or as columns.

        Raises:
            SourceError: an input cannot be read any more, or was changed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cut:
    """A source cut into jobs, one a shard, in order; `rejected` is empty unless bad ones are
    skipped.
    """

    schema: Schema
    jobs: Sequence[Job]
    rejected: tuple[Rejected, ...] = ()


class Source(Protocol):
    """Inputs of one kind."""

    @property
    def kind(self) -> str:
        """What to call it, such as "image tree"."""
        ...

    @property
    def digest(self) -> str:
        """64 hex digits that change when a file is added, removed or touched."""
        ...

    @property
    def holds_images(self) -> bool:
        """Whether the records are mostly images, compressed as they are."""
        ...

    @property
    def shuffled(self) -> bool:
        """Whether it should be shuffled unless the user says otherwise."""
        ...

    def cut(self, request: CutRequest) -> Cut:
        """Cuts the source into jobs.

        Raises:
            SourceError: an input cannot be packed; says which, and what to do.
        """
        ...
