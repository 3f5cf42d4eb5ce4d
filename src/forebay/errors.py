"""Every error that forebay raises on purpose, in one place.

Damage and misuse of data at rest is drawn as a tree in `forebay.formats.errors`, failures of a
running loader in `forebay.dataloader.flow.errors`.
"""

from forebay.dataloader.flow.errors import (
    CursorError,
    DecodeError,
    LoaderClosed,
    LoaderError,
    OutsideSample,
    SampleError,
    StageFailed,
    TooManyFaults,
)
from forebay.formats.errors import (
    ChecksumMismatch,
    DatasetError,
    DatasetNotFound,
    EncryptedShard,
    FilterError,
    ForebayError,
    LimitExceeded,
    MalformedShard,
    ManifestError,
    NewerFormatError,
    SchemaError,
    ShardError,
    SourceError,
    StorageError,
    TruncatedShard,
    UnfinishedDataset,
)

__all__ = [
    "ChecksumMismatch",
    "CursorError",
    "DatasetError",
    "DatasetNotFound",
    "DecodeError",
    "EncryptedShard",
    "FilterError",
    "ForebayError",
    "LimitExceeded",
    "LoaderClosed",
    "LoaderError",
    "MalformedShard",
    "ManifestError",
    "NewerFormatError",
    "OutsideSample",
    "SampleError",
    "SchemaError",
    "ShardError",
    "SourceError",
    "StageFailed",
    "StorageError",
    "TooManyFaults",
    "TruncatedShard",
    "UnfinishedDataset",
]
