"""The codec of a pack, with the dictionary that its first records may give it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forebay.formats.builder import BlockBuilder
from forebay.formats.codecs.zstd import ZstdCodec
from forebay.formats.column import Block
from forebay.formats.commit import DICTIONARY
from forebay.formats.dictionary import SAMPLE_BYTES, SAMPLE_RECORDS, dictionary_for
from forebay.formats.shard import FileCheck
from forebay.formats.storage.publish import write_atomic
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from forebay.formats.pack.target import Target
    from forebay.formats.record import Schema
    from forebay.formats.sources.source import Job


@dataclass(frozen=True, slots=True)
class Trained:
    """A codec ready for use.

    Args:
        codec: configuration as canonical JSON.
        dictionaries: contents of the files that it names.
        staged: (folder, check) of those that are new.
    """

    codec: str
    dictionaries: dict[str, bytes]
    staged: tuple[tuple[Path, FileCheck], ...] = ()


def train(
    work: Path, target: Target, schema: Schema, jobs: Sequence[Job], block_bytes: int
) -> Trained:
    """Trains a dictionary on the first records where one may gain, and puts it into `work`.

    The same jobs give the same dictionary.
    """
    plain = Trained(target.codec, target.dictionaries())
    # Encoded images have no repetition left that a dictionary could hold.
    if not target.trains or any(f.kind == "image" for f in schema):
        return plain
    data = dictionary_for(schema, _first_blocks(schema, jobs, block_bytes))
    if not data:
        return plain
    write_atomic(work / DICTIONARY, data)
    level = int(json.loads(target.codec)["level"])
    check = FileCheck(DICTIONARY, len(data), crc32c(data))
    codec = ZstdCodec(level, data, DICTIONARY)
    return Trained(codec.config, {DICTIONARY: data}, ((work, check),))


def _first_blocks(schema: Schema, jobs: Sequence[Job], block_bytes: int) -> list[Block]:
    blocks: list[Block] = []
    rows = nbytes = 0
    for block in _built(schema, jobs, block_bytes):
        blocks.append(block)
        rows += block.rows
        nbytes += block.nbytes
        if rows >= SAMPLE_RECORDS or nbytes >= SAMPLE_BYTES:
            break
    return blocks


def _built(schema: Schema, jobs: Sequence[Job], block_bytes: int) -> Iterator[Block]:
    builder = BlockBuilder(schema, block_bytes)
    for job in jobs:
        for item in job.read():
            if isinstance(item, Block):
                yield from builder.add_columns(item)
            else:
                block = builder.add(item)
                if block is not None:
                    yield block
    last = builder.flush()
    if last is not None:
        yield last
