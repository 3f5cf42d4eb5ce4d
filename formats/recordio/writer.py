"""Writes a shard: .rec, .idx and .index.arrow (SPEC.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from forebay.formats.codecs.none import NoCodec
from forebay.formats.column import Block, VarColumn
from forebay.formats.errors import LimitExceeded
from forebay.formats.recordio.frame import MAX_PAYLOAD, Framed, framed
from forebay.formats.recordio.gather import starts_of
from forebay.formats.recordio.index import ImageSizes, ShardIndex, encode_index, encode_keys
from forebay.formats.recordio.layout import Records, var_column
from forebay.formats.recordio.profile import Extent, layout_of, memory_of
from forebay.formats.shard import FileCheck, ShardEntry
from forebay.formats.storage.publish import sync_file, sync_folder
from forebay.kernels.align import aligned_empty
from forebay.kernels.crc import crc32c, crc32c_ranges

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from forebay.formats.codecs.codec import Codec
    from forebay.formats.record import Schema


class ImageFacts(Protocol):
    """What an image's header says: pixels as stored, EXIF orientation 1 to 8."""

    @property
    def height(self) -> int:
        """In pixels."""
        ...

    @property
    def width(self) -> int:
        """In pixels."""
        ...

    @property
    def orientation(self) -> int:
        """As EXIF counts it; 1 is upright."""
        ...


Probe = Callable[[memoryview], ImageFacts | None]


class RecordIOWriter:
    """A FormatWriter of one shard, `stem`.rec in `folder`.

    Args:
        stem: the shard's name without suffix, relative to the dataset's folder.
        probe: reads an image's header for the index; without it sizes are unknown (null).

    Raises:
        SchemaError: a field has a kind that RecordIO cannot hold.
    """

    def __init__(
        self, folder: Path, stem: str, schema: Schema, codec: Codec, probe: Probe | None = None
    ) -> None:
        self._folder = folder
        self._stem = stem
        self._schema = schema
        self._layout = layout_of(schema)
        self._codec = codec
        self._compressed = not isinstance(codec, NoCodec)
        self._probe = probe
        self._images = [f for f in schema if f.kind == "image"]
        self._sizes: dict[str, list[tuple[int, int, int]]] = {f.name: [] for f in self._images}
        self._records = 0
        self._bytes = 0
        self._digest = hashlib.sha256()
        self._blocks: list[tuple[int, int, int]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._raw_lengths: list[NDArray[np.int64]] = []
        self._crcs: list[NDArray[np.uint32]] = []
        self._path = self._path_of(".rec")
        self._file = open(self._path, "wb")  # noqa: SIM115 - closed by close and abort

    def write(self, block: Block) -> None:
        """Appends one block; empty ones are ignored.

        Raises:
            SchemaError: a column is not what its field says, or a value does not fit.
            LimitExceeded: a record has 2^29 bytes or more; nothing of the block is written.
        """
        if not block.rows:
            return
        records = self._layout.assemble(block, self._records)
        raw = records.lengths
        self._check_limit(raw)
        if self._compressed:
            records = self._compress(records, raw)
            self._check_limit(records.lengths)
        out = framed(records)
        self._probe_images(block)
        self._append(out, raw)

    def close(self) -> ShardEntry:
        """Finishes the three files and waits until they are on the disk."""
        self._file.close()
        sync_file(self._path)
        lengths = np.concatenate([np.empty(0, np.int64), *self._lengths])
        index = ShardIndex(
            offset=starts_of(lengths),
            length=lengths.astype(np.uint32),
            raw_length=np.concatenate([np.empty(0, np.int64), *self._raw_lengths]).astype(
                np.uint32
            ),
            crc32c=np.concatenate([np.empty(0, np.uint32), *self._crcs]),
            images={name: _as_sizes(rows) for name, rows in self._sizes.items()},
        )
        index_check = self._beside(".index.arrow", encode_index(index, self._schema))
        keys_check = self._beside(".idx", encode_keys(index.offset))
        sync_folder(self._path.parent)
        rows, framed_bytes, memory = np.array(self._blocks, np.int64).reshape(-1, 3).T.copy()
        return ShardEntry(
            file=f"{self._stem}.rec",
            format="recordio",
            codec=self._codec.config,
            records=self._records,
            bytes=self._bytes,
            sha256=self._digest.hexdigest(),
            block_rows=rows,
            block_bytes=framed_bytes,
            block_memory=memory,
            index=index_check,
            key_index=keys_check,
        )

    def abort(self) -> None:
        """Closes and removes what was written; may be called at any time, and twice."""
        self._file.close()
        for suffix in (".rec", ".idx", ".index.arrow"):
            self._path_of(suffix).unlink(missing_ok=True)

    def _path_of(self, suffix: str) -> Path:
        return self._folder / f"{self._stem}{suffix}"

    def _check_limit(self, lengths: NDArray[np.int64]) -> None:
        over = lengths > MAX_PAYLOAD
        if over.any():
            row = int(np.argmax(over))
            raise LimitExceeded(
                f"the record has {lengths[row]} bytes, and RecordIO holds at most {MAX_PAYLOAD} "
                "(2^29 - 1); split it into smaller records, or write Parquet",
                shard=f"{self._stem}.rec",
                record=self._records + row,
            )

    def _compress(self, records: Records, raw: NDArray[np.int64]) -> Records:
        plain = aligned_empty(int(raw.sum()))
        starts = starts_of(raw)
        records.lay_into(plain, starts)
        view = plain.data
        packed = [
            self._codec.compress(view[a : a + n])
            for a, n in zip(starts.tolist(), raw.tolist(), strict=True)
        ]
        lengths = np.fromiter(map(len, packed), np.int64, len(packed))
        joined = np.frombuffer(b"".join(packed), np.uint8)
        payload = VarColumn(joined, starts_of(lengths), lengths)
        return Records(np.empty((len(packed), 0), np.uint8), (payload,))

    def _probe_images(self, block: Block) -> None:
        for f in self._images:
            column = var_column(block, f)
            rows = self._sizes[f.name]
            for i in range(block.rows):
                value = np.ascontiguousarray(column.view(i)) if self._probe else None
                facts = self._probe(value.data) if self._probe and value is not None else None
                known = (facts.height, facts.width, facts.orientation) if facts else (0, 0, 0)
                rows.append(known)

    def _append(self, out: Framed, raw: NDArray[np.int64]) -> None:
        view = out.data.data
        self._file.write(view)
        self._digest.update(view)
        extent = Extent(len(raw), out.data.nbytes, int(raw.sum()), int(raw.max()))
        memory = memory_of(extent, self._schema, self._compressed)
        self._blocks.append((extent.rows, extent.framed, memory))
        self._lengths.append(out.lengths)
        self._raw_lengths.append(raw)
        self._crcs.append(crc32c_ranges(view, out.starts, out.lengths))
        self._records += extent.rows
        self._bytes += extent.framed

    def _beside(self, suffix: str, data: bytes) -> FileCheck:
        path = self._path_of(suffix)
        path.write_bytes(data)
        sync_file(path)
        return FileCheck(f"{self._stem}{suffix}", len(data), crc32c(data))


def _as_sizes(rows: list[tuple[int, int, int]]) -> ImageSizes:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return ImageSizes(
        height=table[:, 0].astype(np.uint32),
        width=table[:, 1].astype(np.uint32),
        orientation=table[:, 2].astype(np.uint8),
    )
