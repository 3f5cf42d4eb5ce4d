"""The index of a shard: where its records lie and what checks them (SPEC.md, 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from forebay.formats.arrow_numbers import numbers
from forebay.formats.errors import MalformedShard, NewerFormatError
from forebay.formats.recordio.frame import MAX_PAYLOAD, PART_HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from forebay.formats.record import Schema

INDEX_VERSION = 1
VERSION_KEY = b"forebay.recordio.index"

_STEP = 1 << 16
_FRAME_BYTES = 4096  # more than Arrow's own framing of so few columns takes

_COLUMNS = (("offset", pa.uint64()), ("length", pa.uint32()))
_CHECKED = (*_COLUMNS, ("crc32c", pa.uint32()), ("raw_length", pa.uint32()))


@dataclass(frozen=True, slots=True, eq=False)
class ImageSizes:
    """Of one image field: (records,) height and width in pixels, EXIF orientation; 0 is unknown."""

    height: NDArray[np.uint32]
    width: NDArray[np.uint32]
    orientation: NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class ShardIndex:
    """A row a record, in the order of the file.

    Args:
        offset: (records,) of the framed record in the shard, in bytes.
        length: (records,) of the framed record in bytes.
        raw_length: (records,) bytes of the record, decompressed and joined.
        crc32c: (records,) of the framed record; None for foreign shards.
        images: by name of the image field; empty where it was not asked for.
        nbytes: memory that the index keeps alive.
    """

    offset: NDArray[np.int64]
    length: NDArray[np.uint32]
    raw_length: NDArray[np.uint32]
    crc32c: NDArray[np.uint32] | None
    images: Mapping[str, ImageSizes] = field(default_factory=dict)
    nbytes: int = 0

    def __len__(self) -> int:
        return len(self.offset)


def encode_index(index: ShardIndex, schema: Schema) -> bytes:
    """The bytes of `.index.arrow`; the same for the same index."""
    fields = [pa.field(name, kind, nullable=False) for name, kind in _CHECKED]
    arrays = [
        pa.array(values, kind)
        for values, (_, kind) in zip(
            (index.offset, index.length, index.crc32c, index.raw_length), _CHECKED, strict=True
        )
    ]
    for f in schema:
        if f.kind != "image":
            continue
        sizes = index.images[f.name]
        for what, values in (
            ("height", sizes.height),
            ("width", sizes.width),
            ("orientation", sizes.orientation),
        ):
            arrays.append(pa.array(values, mask=values == 0))
            fields.append(pa.field(f"{f.name}.{what}", arrays[-1].type))
    metadata = {VERSION_KEY: str(INDEX_VERSION).encode()}
    batch = pa.record_batch(arrays, schema=pa.schema(fields, metadata=metadata))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def decode_index(
    data: NDArray[np.uint8], shard: str, shard_bytes: int, schema: Schema
) -> ShardIndex:
    """The index that `encode_index` wrote; its arrays may view `data`, whose CRC has been checked.

    Without images that are asked for it keeps about 20 bytes a record alive.

    Args:
        data: (n,) uint8, the whole file.
        shard: its name, for messages.
        shard_bytes: size of the .rec.
        schema: the image fields whose sizes are wanted are those of this schema.

    Raises:
        NewerFormatError: a later version wrote it.
        MalformedShard: it is not such an index, or does not fit a shard of `shard_bytes` bytes.
    """
    try:
        with pa.ipc.open_file(pa.BufferReader(pa.py_buffer(data))) as reader:
            _check_version(reader.schema.metadata, shard)
            if reader.num_record_batches != 1:
                raise _malformed(shard, f"has {reader.num_record_batches} record batches, not 1")
            batch = reader.get_batch(0)
        batch.validate(full=True)
        columns = [_numbers(batch, *c, shard) for c in _CHECKED]
    except (pa.ArrowException, KeyError, OSError) as e:
        raise _malformed(shard, f"is not readable as Arrow IPC: {e}") from e
    images = {f.name: _sizes(batch, f.name, shard) for f in schema if f.kind == "image"}
    needed, held = sum(c.nbytes for c in columns), data.nbytes
    if needed > held:
        raise _malformed(shard, "is compressed, which the format forbids")
    if not images and held > needed + needed // 4 + _FRAME_BYTES:
        # What else is in the file would stay in memory as long as these views of it.
        columns, held = [c.copy() for c in columns], needed
    offset, length, crc32c, raw_length = columns
    index = ShardIndex(offset.view(np.int64), length, raw_length, crc32c, images, held)
    _check_extents(index, shard, shard_bytes)
    return index


def encode_keys(offsets: NDArray[np.int64]) -> bytes:
    """The bytes of `.idx`: a line a record, keys counted from 0."""
    lines = map("{}\t{}\n".format, range(len(offsets)), offsets.tolist())
    return "".join(lines).encode("ascii")


def decode_keys(data: bytes, shard: str) -> NDArray[np.int64]:
    """(lines,) the offsets in an `.idx`, in its order.

    Raises:
        MalformedShard: a line is not KEY, a tab, and an offset in decimal.
    """
    offsets: list[int] = []
    for number, line in enumerate(data.splitlines()):
        _, tab, at = line.rpartition(b"\t")
        # 18 digits always fit an int64.
        if not tab or not at.isdigit() or len(at) > 18:
            raise MalformedShard(
                f"line {number + 1} of its .idx is {line[:40]!r}, not a key, a tab and an offset; "
                "make the .idx again, or remove it",
                shard=shard,
                record=number,
            )
        offsets.append(int(at))
    return np.array(offsets, np.int64)


def _check_version(metadata: Mapping[bytes, bytes] | None, shard: str) -> None:
    version = (metadata or {}).get(VERSION_KEY, b"")
    if not version.isdigit() or len(version) > 9:
        raise _malformed(shard, f"says no version under {VERSION_KEY.decode()!r}")
    if int(version) > INDEX_VERSION:
        raise NewerFormatError(
            f"the index of shard {shard} has version {int(version)}; this forebay reads up to "
            f"{INDEX_VERSION}: upgrade forebay"
        )


def _numbers(batch: Any, name: str, kind: Any, shard: str) -> NDArray[Any]:
    column = batch.column(name)
    if column.type != kind or column.null_count:
        raise _malformed(shard, f"has a column {name!r} of {column.type}, not {kind} without nulls")
    values: NDArray[Any] = numbers(column)
    return values


def _sizes(batch: Any, name: str, shard: str) -> ImageSizes:
    kinds = (("height", pa.uint32()), ("width", pa.uint32()), ("orientation", pa.uint8()))
    found: list[NDArray[Any]] = []
    for what, kind in kinds:
        at = batch.schema.get_field_index(f"{name}.{what}")
        if at < 0 or batch.column(at).type != kind:
            raise _malformed(shard, f"has no column '{name}.{what}' of {kind}")
        found.append(numbers(batch.column(at).fill_null(0)))
    return ImageSizes(*found)


def _check_extents(index: ShardIndex, shard: str, shard_bytes: int) -> None:
    """Records must lie one behind the other and fill the shard."""
    last, gaps = 0, False
    for first in range(0, len(index), _STEP):
        part = slice(first, first + _STEP)
        lengths = index.length[part].astype(np.int64)
        ends = last + np.cumsum(lengths)
        gaps |= bool((index.offset[part] != ends - lengths).any())
        last = int(ends[-1])
        if (
            (lengths % 4).any()
            or (lengths < PART_HEADER).any()
            or (index.raw_length[part] > MAX_PAYLOAD).any()
        ):
            raise _malformed(shard, "has a record of a size that the format forbids")
    if gaps or last != shard_bytes:
        raise _malformed(
            shard, f"places records up to byte {last} of a shard of {shard_bytes}, or leaves gaps"
        )


def _malformed(shard: str, what: str) -> MalformedShard:
    return MalformedShard(f"its .index.arrow {what}; write the dataset again", shard=shard)
