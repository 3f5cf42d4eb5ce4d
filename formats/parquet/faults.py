"""What the decoder raises, turned into errors of ours that say where."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from forebay.formats.errors import EncryptedShard, MalformedShard, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENCRYPTED = "{what}, and forebay takes no keys; decrypt it into a new file, or leave the column out"
_RAISED = (pa.ArrowException, OSError, ValueError, KeyError, IndexError, OverflowError)


@contextmanager
def decoding(doing: str, *, shard: str, block: int | None = None) -> Iterator[None]:
    """Errors of the decoder inside become MalformedShard or EncryptedShard; ours pass.

    Args:
        doing: what was being decoded, such as "the footer".
        shard: where, as in ShardError.
        block: likewise.

    Raises:
        MalformedShard: the decoder refused the bytes.
        EncryptedShard: it asked for a key.
    """
    try:
        yield
    except (StorageError, pa.ArrowMemoryError):
        raise
    except _RAISED as e:
        said = str(e) or repr(e)
        if "crypt" in said:
            raise EncryptedShard(
                ENCRYPTED.format(what=f"{doing} is encrypted"), shard=shard, block=block
            ) from e
        raise MalformedShard(
            f"{doing} cannot be decoded: {said}; restore the file from its source or write it "
            "again",
            shard=shard, block=block,
        ) from e  # fmt: skip
