"""The tree of errors that data at rest can cause.

ForebayError
├── DatasetError                   the folder as a whole
│   ├── DatasetNotFound            also FileNotFoundError
│   ├── UnfinishedDataset          a pack was stopped before its manifest
│   ├── ManifestError              also ValueError: manifest or table is damaged or disagrees
│   └── NewerFormatError           written by a later version than this one reads
├── SchemaError                    also ValueError: a field, or a value that does not fit it
├── FilterError                    also ValueError: an expression that is none, or does not fit
├── ShardError                     one shard; says shard, and offset, record, block if known
│   ├── TruncatedShard             have N of M bytes
│   ├── ChecksumMismatch           the CRC-32C found is not the CRC-32C recorded
│   ├── MalformedShard             bytes that the format forbids
│   ├── EncryptedShard             readable only with keys, which forebay does not take
│   └── LimitExceeded              larger than the format can say
├── SourceError                    an input of `forebay pack`; also ValueError
└── StorageError                   also OSError: the store failed, the data may be fine
"""

from __future__ import annotations


class ForebayError(Exception):
    """Base of every error that forebay raises on purpose."""


class DatasetError(ForebayError):
    """A dataset folder cannot be used as a whole."""


class DatasetNotFound(DatasetError, FileNotFoundError):
    """There is no dataset at the path."""


class UnfinishedDataset(DatasetError):
    """A writer was stopped before it committed; run it again to finish."""


class ManifestError(DatasetError, ValueError):
    """forebay.json or the shard table is damaged, or disagrees with the shards."""


class NewerFormatError(DatasetError):
    """The dataset was written by a later version of the format."""


class SchemaError(ForebayError, ValueError):
    """A field specification is wrong, or a value does not fit its field."""


class FilterError(ForebayError, ValueError):
    """A filter is not of the language, or does not fit the fields; says where."""


class SourceError(ForebayError, ValueError):
    """An input that `forebay pack` was given cannot be packed."""


class StorageError(ForebayError, OSError):
    """A store failed to list, read or write; says nothing about the data itself."""


class ShardError(ForebayError):
    """One shard is damaged or cannot be read.

    Args:
        what: what was wrong, with the value got and what to do, in one sentence.
        shard: file name of the shard, relative to its dataset.
        offset: byte offset in the shard at which it was noticed.
        block: index of the block (row group) in the shard.
        record: index of the record in the shard.
    """

    def __init__(
        self,
        what: str,
        *,
        shard: str,
        offset: int | None = None,
        block: int | None = None,
        record: int | None = None,
    ) -> None:
        self.what = what
        self.shard = shard
        self.offset = offset
        self.block = block
        self.record = record
        super().__init__(what, shard, offset, block, record)

    def __str__(self) -> str:
        place = [f"shard {self.shard}"]
        if self.block is not None:
            place.append(f"block {self.block}")
        if self.record is not None:
            place.append(f"record {self.record}")
        if self.offset is not None:
            place.append(f"offset {self.offset}")
        return f"{', '.join(place)}: {self.what}"

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive BaseException's own pickling, and
        # errors do cross process borders.
        return _rebuild, (type(self), self.what, self.shard, self.offset, self.block, self.record)


def _rebuild(
    kind: type[ShardError],
    what: str,
    shard: str,
    offset: int | None,
    block: int | None,
    record: int | None,
) -> ShardError:
    return kind(what, shard=shard, offset=offset, block=block, record=record)


class TruncatedShard(ShardError):
    """The shard ends before the bytes that its table or its own framing promises."""


class ChecksumMismatch(ShardError):
    """The checksum of the bytes read is not the one recorded for them."""


class MalformedShard(ShardError):
    """The bytes are not what the format allows."""


class EncryptedShard(ShardError):
    """The shard, or a column asked for, is encrypted."""


class LimitExceeded(ShardError, ValueError):
    """A record is larger than the format can express."""
