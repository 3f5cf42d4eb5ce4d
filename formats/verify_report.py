"""What verifying a dataset found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forebay.formats.errors import ShardError


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is not as it was written.

    Args:
        file: name relative to the dataset's folder.
        block: index of the block (row group) in the shard, where it is known.
        record: index of the record in the shard, where it is known.
        offset: byte in the file, where it is known.
    """

    file: str
    what: str
    block: int | None = None
    record: int | None = None
    offset: int | None = None

    @staticmethod
    def of(error: ShardError) -> Fault:
        """The fault that an error tells of."""
        return Fault(error.shard, error.what, error.block, error.record, error.offset)

    def __str__(self) -> str:
        places = (("block", self.block), ("record", self.record), ("offset", self.offset))
        known = "".join(f", {name} {value}" for name, value in places if value is not None)
        return f"{self.file}{known}: {self.what}"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was verified, and every fault.

    Args:
        dataset: path of it.
        foreign: whether others wrote it, so that most bytes have no check.
        shards: number of shards that were to be verified.
        records: records that were decoded.
        bytes: size of the shard files.
        unchecked_records: records that were decoded, but that no checksum covers.
        unchecked_bytes: bytes at rest of the blocks that hold such records.
        extra_files: files in the folder that the manifest does not name.
        faults: in the order of the shards; empty where all is well.
    """

    dataset: str
    foreign: bool
    shards: int = 0
    records: int = 0
    bytes: int = 0
    unchecked_records: int = 0
    unchecked_bytes: int = 0
    extra_files: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def to_json(self) -> dict[str, Any]:
        """A JSON value of all of it."""
        return {"ok": self.ok, **asdict(self)}
