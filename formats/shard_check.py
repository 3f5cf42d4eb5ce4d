"""Verifying one shard: its files whole, then block by block, then record by record."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forebay.formats.errors import (
    DatasetError,
    DatasetNotFound,
    ManifestError,
    ShardError,
    StorageError,
)
from forebay.formats.opened import Opened, size_fault
from forebay.formats.recordio.index import decode_index, decode_keys
from forebay.formats.storage.source import read_all
from forebay.formats.verify_report import Fault
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forebay.formats.shard import ShardEntry
    from forebay.formats.storage.source import ByteSource

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class ShardVerdict:
    """What was found in one shard; `bytes` is its size by the table."""

    bytes: int
    records: int
    unchecked_records: int
    unchecked_bytes: int
    faults: tuple[Fault, ...]


def verify_shard(
    opened: Opened, shard: ShardEntry, lacking: frozenset[str] = frozenset()
) -> ShardVerdict:
    """Reads every byte of a shard and of the files beside it.

    Args:
        lacking: dictionaries that are damaged; the files of a shard that needs one are checked
            whole, but none of its records can be decoded.
    """
    whole = list(_whole_faults(opened, shard))
    if json.loads(shard.codec).get("dictionary") in lacking:
        return ShardVerdict(shard.bytes, 0, 0, 0, tuple(whole))
    blocks: list[Fault] = []
    records = unchecked = unchecked_bytes = 0
    for block in range(len(shard.block_rows)):
        try:
            read = opened.reader.read(shard, block, opened.schema)
        except ShardError as e:
            blocks.append(Fault.of(e))
            continue
        except (ManifestError, DatasetNotFound, StorageError) as e:
            blocks.append(Fault(shard.file, str(e), block))
            continue
        blocks += map(Fault.of, read.damaged.values())
        records += read.rows - len(read.damaged)
        unchecked += read.unchecked
        unchecked_bytes += int(shard.block_bytes[block]) if read.unchecked else 0
    # A block's fault says more than the digest of the file around it.
    if blocks:
        named = {f.file for f in blocks}
        whole = [f for f in whole if f.file not in named or "digest" not in f.what]
    faults = (*whole, *dict.fromkeys(blocks))
    return ShardVerdict(shard.bytes, records, unchecked, unchecked_bytes, faults)


def file_faults(
    source: ByteSource, name: str, size: int, crc: int | None = None, sha256: str = ""
) -> Iterator[Fault]:
    """The faults of one file as a whole: its size, else its CRC-32C and SHA-256 where given."""
    fault = size_fault(source, name, size)
    if fault is not None:
        yield Fault(name, fault)
        return
    digest = hashlib.sha256()
    found = 0
    piece = bytearray(min(size, _PIECE))
    for offset in range(0, size, _PIECE):
        view = memoryview(piece)[: size - offset]
        try:
            source.read_into(name, [offset], [view])
        except ShardError as e:
            yield Fault.of(e)
            return
        except (DatasetError, StorageError) as e:
            yield Fault(name, str(e), offset=offset)
            return
        if crc is not None:
            found = crc32c(view, found)
        if sha256:
            digest.update(view)
    if crc is not None and found != crc:
        yield Fault(name, f"CRC-32C is {found:08x}, recorded is {crc:08x}")
    elif sha256 and digest.hexdigest() != sha256:
        yield Fault(name, f"digest is {digest.hexdigest()[:16]}..., recorded is {sha256[:16]}...")


def _whole_faults(opened: Opened, shard: ShardEntry) -> Iterator[Fault]:
    yield from file_faults(opened.source, shard.file, shard.bytes, None, shard.sha256)
    beside = [c for c in (shard.index, shard.key_index) if c is not None]
    broken = False
    for check in beside:
        for fault in file_faults(opened.source, check.file, check.bytes, check.crc32c):
            broken = True
            yield fault
    if len(beside) == 2 and not broken:
        yield from _key_faults(opened, shard)


def _key_faults(opened: Opened, shard: ShardEntry) -> Iterator[Fault]:
    """Where the .idx for other readers and our index disagree."""
    if shard.index is None or shard.key_index is None:
        return
    keys = read_all(opened.source, shard.key_index.file, shard.key_index.bytes)
    data = np.frombuffer(read_all(opened.source, shard.index.file, shard.index.bytes), np.uint8)
    try:
        offsets = decode_keys(keys, shard.file)
        index = decode_index(data, shard.file, shard.bytes, opened.schema)
    except ShardError as e:
        yield Fault(shard.key_index.file, e.what, record=e.record)
        return
    if len(offsets) != len(index):
        what = f"has {len(offsets)} lines, the shard {len(index)} records"
        yield Fault(shard.key_index.file, what)
        return
    wrong = np.flatnonzero(offsets != index.offset)
    if len(wrong):
        i = int(wrong[0])
        what = f"says offset {offsets[i]}, the index {index.offset[i]}; {len(wrong)} lines differ"
        yield Fault(shard.key_index.file, what, record=i)
