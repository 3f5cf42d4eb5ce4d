"""Writes the RecordIO shards of tests/golden/recordio: the bytes of format version 1.

Run it to add a case; a change to the bytes of a case that is there is a new format version.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.codecs.codec import codec_of
from forebay.formats.column import Block, Column, FixedColumn, VarColumn
from forebay.formats.record import Field, Schema
from forebay.formats.recordio.writer import ImageFacts, RecordIOWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = Path(__file__).parent / "recordio"
MAGIC = b"\x0a\x23\xd7\xce"
DICTIONARY = b"".join(b"word %d of a dictionary of raw content; " % i for i in range(40))
DICTIONARIES = {"dictionary.zdict": DICTIONARY}
FIELDS = {
    "n": "int64",
    "текст": "text?",
    "x": "float32[3]",
    "ids": "uint16[*]",
    "raw": "bytes?",
    "flag": "bool?",
}
FIELDS_ROWS: list[tuple[Any, ...]] = [
    (1, "word 7 of a dictionary", [0.5, -1, 2], [1, 2, 65535], b"", True),
    (-(1 << 63), None, [0, 0, 0], [], MAGIC * 2, None),
    (2, "ключ", [1, 1, 1], [7], None, False),
]
IMAGES = {"image": "jpeg", "label": "int32"}
IMAGES_ROWS: list[tuple[Any, ...]] = [
    (b"\xff\xd8\xff image", 3),
    (b"", 1 << 24),
    (MAGIC + b"abc" + MAGIC[:2] + MAGIC, -1),
    (b"abcd" + MAGIC, 0),
]


@dataclass(frozen=True)
class Case:
    """A shard: its blocks of rows, and the codec's configuration."""

    fields: Mapping[str, str]
    blocks: Sequence[Sequence[tuple[Any, ...]]]
    codec: str = '{"id":"none"}'

    @property
    def schema(self) -> Schema:
        """The fields, parsed."""
        return Schema.parse(self.fields)


@dataclass(frozen=True)
class Facts:
    """What the probe says of every image that has bytes."""

    height: int
    width: int
    orientation: int = 1


CASES = {
    "fields-none": Case(FIELDS, [FIELDS_ROWS[:2], FIELDS_ROWS[2:]]),
    "fields-zstd": Case(FIELDS, [FIELDS_ROWS], '{"id":"zstd","level":3}'),
    "fields-dictionary": Case(
        FIELDS, [FIELDS_ROWS], '{"dictionary":"dictionary.zdict","id":"zstd","level":3}'
    ),
    "images-none": Case(IMAGES, [IMAGES_ROWS[:1], IMAGES_ROWS[1:]]),
    "images-zstd": Case(IMAGES, [IMAGES_ROWS], '{"id":"zstd","level":3}'),
    "empty": Case(IMAGES, []),
}


def column_of(field: Field, values: Sequence[Any]) -> Column:
    """A column of Python values; None is a null."""
    valid = np.array([v is not None for v in values], np.bool_)
    mask = None if valid.all() else valid
    if field.kind == "fixed":
        zero = np.zeros(field.shape, field.element)
        return FixedColumn(
            np.array([zero if v is None else v for v in values], field.element), mask
        )
    arrays = []
    for v in values:
        raw = v.encode() if isinstance(v, str) else v
        whole = raw if field.kind != "ragged" else np.array(v, field.element).tobytes()
        arrays.append(np.frombuffer(whole or b"", field.element))
    lengths = np.array([len(a) for a in arrays], np.int64)
    return VarColumn(np.concatenate(arrays), np.cumsum(lengths) - lengths, lengths, mask)


def probe(data: memoryview) -> ImageFacts | None:
    """Stands for the reading of image headers: size 2 x length of what has bytes."""
    return Facts(2, len(data)) if len(data) else None


def write(folder: Path, name: str) -> dict[str, Any]:
    """Writes one case; its shard's entry as JSON values."""
    case = CASES[name]
    writer = RecordIOWriter(folder, name, case.schema, codec_of(case.codec, DICTIONARIES), probe)
    for rows in case.blocks:
        columns = {f.name: column_of(f, [r[i] for r in rows]) for i, f in enumerate(case.schema)}
        writer.write(Block(len(rows), columns, 0))
    entry = dataclasses.asdict(writer.close())
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in entry.items()}


def main() -> None:
    """Writes every case, and the entries of all."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "dictionary.zdict").write_bytes(DICTIONARY)
    entries = {name: write(FOLDER, name) for name in CASES}
    (FOLDER / "entries.json").write_text(json.dumps(entries, indent=1) + "\n")


if __name__ == "__main__":
    main()
