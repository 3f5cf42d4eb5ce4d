"""Writing a dataset from records: blocks into shards into a staging folder, then one commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from forebay.formats.builder import BLOCK_BYTES, BlockBuilder
from forebay.formats.codecs.codec import codec_of
from forebay.formats.codecs.zstd import ZstdCodec
from forebay.formats.commit import DICTIONARY, commit, table_name
from forebay.formats.destination import Destination, WriteOptions, prepare
from forebay.formats.dictionary import SAMPLE_BYTES, SAMPLE_RECORDS, dictionary_for
from forebay.formats.parquet.writer import ParquetWriter
from forebay.formats.record import Schema
from forebay.formats.recordio.writer import RecordIOWriter
from forebay.formats.shard import FileCheck, FormatWriter, ShardEntry
from forebay.formats.staging import Staging
from forebay.formats.storage.publish import write_atomic
from forebay.kernels.crc import crc32c

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from forebay.formats.codecs.codec import Codec
    from forebay.formats.column import Block
    from forebay.formats.manifest import Manifest

SHARD_BYTES = 128 << 20

FormatName = Literal["parquet", "recordio"]
CodecName = Literal["zstd", "none"]


class ShardWriter:
    """Writes records into a dataset's folder; leaving the `with` block makes the dataset.

    Until then, and after an exception, the folder is what it was before. The same records and
    options give the same bytes. Not safe to call from several threads.

    Args:
        path: folder of the dataset; made if it is absent. Empty, unless `append`.
        fields: `{"image": "jpeg", "label": "int64"}`, or a Schema.
        format: "parquet" (the default) or "recordio"; taken over when appending.
        codec: "zstd" (the default) or "none"; taken over when appending.
        level: of zstd, 1 to 19; 3 by default.
        shard_bytes: bytes of values, uncompressed, at which a shard is complete.
        block_bytes: bytes of values, uncompressed, at which a block is complete.
        append: whether the records become a new generation of the dataset that is there, if any.

    Raises:
        SchemaError: a field is not understood, or is not the dataset's that is appended to.
        DatasetError: the folder holds something else, or a dataset and `append` is not given.
        ValueError: an option is not one of the above.
    """

    def __init__(  # noqa: PLR0913  the options of one file format, each with a default
        self,
        path: str | os.PathLike[str],
        fields: Mapping[str, str] | Schema,
        *,
        format: FormatName | None = None,
        codec: CodecName | None = None,
        level: int | None = None,
        shard_bytes: int = SHARD_BYTES,
        block_bytes: int = BLOCK_BYTES,
        append: bool = False,
    ) -> None:
        if shard_bytes < 1:
            raise ValueError(f"shard_bytes must be at least 1, got {shard_bytes}")
        self.schema = fields if isinstance(fields, Schema) else Schema.parse(fields)
        self._builder = BlockBuilder(self.schema, block_bytes)
        options = WriteOptions(format, codec, level, append)
        self._to = prepare(Path(path), self.schema, options)
        self._shard_bytes = shard_bytes
        self._run: _Run | None = None
        self._done = False
        self.manifest: Manifest | None = None
        """What was written, once the `with` block was left."""

    def write(self, record: Mapping[str, Any]) -> None:
        """Takes one record, a dict of field: value.

        Raises:
            SchemaError: a value does not fit its field. The writer can go on without the record.
        """
        block = self._builder.add(record)
        if block is not None:
            self._started().take(block)

    def write_columns(self, block: Block) -> None:
        """Takes many records as columns; their buffers are the caller's again afterwards.

        Raises:
            SchemaError: a column does not fit its field; nothing was taken.
        """
        for full in self._builder.add_columns(block):
            self._started().take(full)

    def close(self) -> None:
        """Writes what is left and makes the dataset; after an exception, use `abort`."""
        if self._done:
            return
        try:
            run = self._started()
            block = self._builder.flush()
            if block is not None:
                run.take(block)
            self.manifest = run.finish()
        finally:
            self.abort()

    def abort(self) -> None:
        """Removes everything written so far; nothing happens after `close`."""
        self._done = True
        if self._run is not None:
            self._run.remove()
            self._run = None
        self._to.leave()

    def __enter__(self) -> Self:
        self._started()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _started(self) -> _Run:
        if self._done:
            raise ValueError("this ShardWriter is closed; make a new one with append=True")
        if self._run is None:
            self._run = _Run(self._to, self._shard_bytes)
        return self._run


def write_dataset(
    path: str | os.PathLike[str],
    records: Iterable[Mapping[str, Any]],
    fields: Mapping[str, str] | Schema,
    **options: Any,
) -> Manifest:
    """Writes all records into a dataset's folder and says what was written.

    `options` are those of ShardWriter; so are the errors.
    """
    with ShardWriter(path, fields, **options) as writer:
        for record in records:
            writer.write(record)
    if writer.manifest is None:
        raise RuntimeError("the writer closed without a manifest")
    return writer.manifest


@dataclass
class _Run:
    """One generation in the making: its staging folder and the shard that is open."""

    to: Destination
    shard_bytes: int
    staging: Staging = field(init=False)
    done: list[ShardEntry] = field(default_factory=list)
    dictionary: FileCheck | None = None
    codec: Codec | None = None
    held: list[Block] = field(default_factory=list)
    shard: FormatWriter | None = None
    shard_size: int = 0

    def __post_init__(self) -> None:
        self.staging = Staging(self.to.folder)
        if not self.to.trains:
            self.codec = codec_of(self.to.codec, self.to.dictionaries)

    def take(self, block: Block) -> None:
        if self.codec is not None:
            self._write(block, self.codec)
            return
        self.held.append(block)
        enough = sum(b.nbytes for b in self.held) >= SAMPLE_BYTES
        if enough or sum(b.rows for b in self.held) >= SAMPLE_RECORDS:
            self._release()

    def finish(self) -> Manifest:
        codec = self.codec or self._release()
        self._end_shard()
        parent = self.to.parent.last.number if self.to.parent else 0
        dictionaries = [(self.staging.path, self.dictionary)] if self.dictionary else []
        moved = [e.file for e in self.done]
        for e in self.done:
            moved += [c.file for c in (e.index, e.key_index) if c is not None]
        moved += [c.file for _, c in dictionaries]
        self.staging.announce([*moved, table_name(parent + 1)])
        manifest = commit(
            self.to.folder,
            self.to.schema,
            self.to.format,
            codec.config,
            [(self.staging.path, e) for e in self.done],
            dictionaries,
            parent,
        )
        self.staging.committed()
        return manifest

    def remove(self) -> None:
        if self.shard is not None:
            self.shard.abort()
            self.shard = None
        self.staging.remove()

    def _release(self) -> Codec:
        """Settles the codec, now that the first records are known, and writes them."""
        codec = codec_of(self.to.codec)
        data = dictionary_for(self.to.schema, self.held)
        if data and isinstance(codec, ZstdCodec):
            write_atomic(self.staging.path / DICTIONARY, data)
            self.dictionary = FileCheck(DICTIONARY, len(data), crc32c(data))
            codec = ZstdCodec(codec.level, data, DICTIONARY)
        self.codec = codec
        held, self.held = self.held, []
        for block in held:
            self._write(block, codec)
        return codec

    def _write(self, block: Block, codec: Codec) -> None:
        if self.shard is None:
            stem = self.to.stem(len(self.done))
            kind = ParquetWriter if self.to.format == "parquet" else RecordIOWriter
            self.shard = kind(self.staging.path, stem, self.to.schema, codec)
        self.shard.write(block)
        self.shard_size += block.nbytes
        if self.shard_size >= self.shard_bytes:
            self._end_shard()

    def _end_shard(self) -> None:
        if self.shard is not None:
            self.done.append(self.shard.close())
            self.shard = None
            self.shard_size = 0
