"""Finished shards, noted on disk one file each, so that a stopped pack can go on after them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.errors import UnfinishedDataset
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.formats.sources.source import Rejected
from forebay.formats.storage.publish import write_atomic

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class DoneShard:
    """A finished shard.

    Args:
        number: of its job.
        folder: name of the folder, in the work folder, that holds its files.
        rejected: inputs of the job that were left out.
        images: how many of its images met which fate, see `images.Changing`.
    """

    number: int
    folder: str
    entry: ShardEntry
    rejected: tuple[Rejected, ...]
    images: Mapping[str, int] = field(default_factory=dict)


def note(work: Path, done: DoneShard) -> None:
    """Makes it durable that a shard is done."""
    value = {
        "number": done.number,
        "folder": done.folder,
        "entry": _entry_json(done.entry),
        "rejected": [[r.name, r.why] for r in done.rejected],
        "images": dict(sorted(done.images.items())),
    }
    data = json.dumps(value, separators=(",", ":")).encode()
    write_atomic(work / f"done-{done.number:06d}.json", data)


def noted(work: Path) -> dict[int, DoneShard]:
    """The shards noted so far, by number.

    Raises:
        UnfinishedDataset: a note cannot be understood.
    """
    found: dict[int, DoneShard] = {}
    for path in sorted(work.glob("done-*.json")):
        try:
            value = json.loads(path.read_bytes())
            done = DoneShard(
                int(value["number"]),
                str(value["folder"]),
                _entry_of(value["entry"]),
                tuple(Rejected(str(n), str(w)) for n, w in value["rejected"]),
                {str(fate): int(n) for fate, n in value.get("images", {}).items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise UnfinishedDataset(
                f"{path} is damaged ({e}): pack again with --restart, or remove {work}"
            ) from e
        found[done.number] = done
    return found


_ARRAYS = {
    "block_rows": np.int64,
    "block_bytes": np.int64,
    "block_memory": np.int64,
    "chunk_crc32c": np.uint32,
}
_PLAIN = (
    "file",
    "format",
    "codec",
    "records",
    "bytes",
    "sha256",
    "footer_bytes",
    "footer_crc32c",
    "generation",
)


def _entry_json(entry: ShardEntry) -> dict[str, Any]:
    row = {name: getattr(entry, name) for name in _PLAIN}
    row |= {name: getattr(entry, name).tolist() for name in _ARRAYS}
    for name, check in (("index", entry.index), ("key_index", entry.key_index)):
        row[name] = None if check is None else [check.file, check.bytes, check.crc32c]
    return row


def _entry_of(row: dict[str, Any]) -> ShardEntry:
    values = {name: row[name] for name in _PLAIN}
    values |= {name: np.array(row[name], dtype) for name, dtype in _ARRAYS.items()}
    for name in ("index", "key_index"):
        values[name] = None if row[name] is None else FileCheck(*row[name])
    return ShardEntry(**values)
