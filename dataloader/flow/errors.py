"""Failures of a running loader.

LoaderError (RuntimeError)
├── SampleError       a sample cannot be delivered; carries where it stands and the cause
├── TooManyFaults     more samples could not be delivered than max_errors allows
├── DecodeError       the bytes of a field are not what its kind says; a SampleError's cause
├── StageFailed       a stage raised something that no damage of data explains
├── OutsideSample     sample_rng() was called where no sample is being made
├── CursorError       also ValueError: a state that this loader cannot go on from
└── LoaderClosed      the iterator was closed by an earlier error, or is another process's
"""

from __future__ import annotations


class LoaderError(RuntimeError):
    """Base of the failures of a running loader."""


_REMEDIES = {
    "fetch": "run `forebay verify` on the dataset to list all damage",
    "decode": "the bytes are as they were packed: mend or leave out this record's source",
    "filter": "what it raised is this error's cause, with its traceback",
    "map": "what it raised is this error's cause, with its traceback",
    "collate": "let map return samples of one structure, with the same keys, shapes and types",
}


class SampleError(LoaderError):
    """A sample cannot be delivered; the damage itself, or what user code raised, is the exception's
    `__cause__`.

    Args:
        position: the sample's place in the epoch's global order.
        shard: name of the shard that holds its record.
        record: index of the record in the shard.
        stage: the stage that found the damage, fetch or decode; or filter, map or collate.
        others: how many more samples of the same batch have faults.
    """

    def __init__(
        self, position: int, shard: str, record: int, stage: str, cause: str, others: int = 0
    ) -> None:
        self.position = position
        self.shard = shard
        self.record = record
        self.stage = stage
        self.cause = cause
        self.others = others
        super().__init__(position, shard, record, stage, cause, others)

    def __str__(self) -> str:
        more = f" ({self.others} more in this batch)" if self.others else ""
        return (
            f"sample at position {self.position} (shard {self.shard}, record {self.record}) "
            f"failed in {self.stage}: {self.cause}{more}; {_REMEDIES[self.stage]}"
        )


class TooManyFaults(LoaderError):
    """More samples of an epoch could not be delivered than `max_errors` allows."""


class DecodeError(LoaderError):
    """The bytes of a field cannot be decoded."""


class StageFailed(LoaderError):
    """A stage raised an error that is not damage of data; it is the exception's `__cause__`."""


class OutsideSample(LoaderError):
    """A generator of a sample was asked for where no sample is being made."""


class CursorError(LoaderError, ValueError):
    """A cursor is damaged, of another version, or of another stream of samples."""


class LoaderClosed(LoaderError):
    """The iterator was closed by an earlier error, or belongs to another process."""
