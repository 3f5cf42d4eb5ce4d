"""What a pack says while it runs, and when it is done."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forebay.formats.sources.source import Rejected


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pack is; bytes are those of the inputs, about."""

    records: int
    total_records: int
    bytes: int
    total_bytes: int
    shards: int
    total_shards: int


@dataclass(frozen=True, slots=True)
class PackReport:
    """What a pack did.

    Args:
        source: kind of the source.
        records: records written, those of shards taken over from a stopped run included.
        bytes: size of the shard files.
        shards_reused: shards that a stopped run had finished.
        skipped: inputs that were left out.
        images: "seekable" or "keep", as it was settled.
        image_fates: of "seekable": how many images became so ("transcoded"), and how many were
            stored as they came, by reason; the words are those of formats/jpeg/SPEC.md.
        notes: sentences that the user should read.
        workers: processes that wrote.
        seconds: from start to commit.
    """

    path: str
    source: str
    format: str
    codec: str
    order: str
    generation: int
    fingerprint: str
    records: int
    bytes: int
    shards: int
    shards_reused: int
    skipped: tuple[Rejected, ...]
    images: str
    image_fates: Mapping[str, int]
    notes: tuple[str, ...]
    workers: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """A JSON value of all of it."""
        return asdict(self)
