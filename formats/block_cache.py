"""A few decoded blocks, kept for random access to neighbouring rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.formats.lru import Lru

if TYPE_CHECKING:
    from collections.abc import Callable

    from forebay.formats.column import Block

LIMIT_BYTES = 64_000_000


class BlockCache:
    """The least recently used blocks go first; a block above the limit is not kept.

    For threads, forks and pickling see `Lru`.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._blocks: Lru[Block] = Lru(limit)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the kept blocks hold."""
        return self._blocks.nbytes

    def get(self, block: int, load: Callable[[], Block]) -> Block:
        """Block number `block`, from the cache or by `load`."""
        return self._blocks.get(block, load)
