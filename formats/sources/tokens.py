"""Token files: long 1-D arrays of integers, packed as chunks of the narrowest unsigned type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.formats.column import Block, Column, VarColumn
from forebay.formats.errors import SourceError
from forebay.formats.record import Schema
from forebay.formats.sources.listing import InputFile, digest_of
from forebay.formats.sources.order import Order, even_cuts, stored_order
from forebay.formats.sources.source import Cut, CutRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from forebay.formats.sources.numpy_file import ArrayFile

CHUNK_BYTES = 1 << 20
_SCAN = 1 << 22


@dataclass(frozen=True)
class TokenFiles:
    """Files of tokens, each cut into chunks of its own; the last chunk of a file may be short.

    Field `tokens` is ragged. With `eos`, field `documents` (uint32[*]) holds where documents start
    within the chunk: at the beginning of a file, and after each `eos`.
    """

    listing: Sequence[InputFile]
    arrays: Sequence[ArrayFile]
    chunk_tokens: int | None = None
    eos: int | None = None
    kind = "tokens"
    holds_images = False
    shuffled = False

    @property
    def digest(self) -> str:
        """Over names, sizes and times of all files, and how they are cut."""
        dtypes = [a.dtype for a in self.arrays]
        return digest_of(self.kind, self.listing, dtypes, self.chunk_tokens, self.eos)

    def cut(self, request: CutRequest) -> Cut:
        """Reads every token once, for the narrowest dtype that holds them all."""
        dtype = _narrowest(max((_largest(a) for a in self.arrays), default=0))
        spec = {"tokens": f"{dtype}[*]"}
        if self.eos is not None:
            spec["documents"] = "uint32[*]"
        tokens = sum(a.shape[0] for a in self.arrays)
        if not tokens:
            raise SourceError(f"{self.arrays[0].path} has no tokens: there is nothing to pack")
        chunk = self.chunk_tokens or CHUNK_BYTES // dtype.itemsize
        chunks = sum(-(-a.shape[0] // chunk) for a in self.arrays)
        order = stored_order(chunks, request.seed, request.stage)
        layout = _Layout(tuple(self.arrays), dtype.name, chunk, self.eos, order)
        runs = even_cuts(chunks, tokens * dtype.itemsize, request.shard_bytes)
        return Cut(Schema.parse(spec), [TokenJob(layout, *run) for run in runs])


def _largest(file: ArrayFile) -> int:
    array = file.open()
    largest = 0
    for at in range(0, len(array), _SCAN):
        part = np.asarray(array[at : at + _SCAN])
        if part.dtype.kind == "i" and int(part.min()) < 0:
            i = at + int(np.argmax(part < 0))
            raise SourceError(
                f"{file.path} element {i} is {array[i]}: tokens cannot be negative; "
                "check --dtype, or save other arrays with two dimensions"
            )
        largest = max(largest, int(part.max()))
    return largest


def _narrowest(largest: int) -> np.dtype[Any]:
    return np.dtype(np.min_scalar_type(largest))


@dataclass(frozen=True, slots=True)
class _Layout:
    """How files become chunks, and their order."""

    files: tuple[ArrayFile, ...]
    dtype: str
    chunk: int
    eos: int | None
    order: Order

    def firsts(self) -> NDArray[np.int64]:
        """(files + 1,) number of the first chunk of each file."""
        counts = [-(-f.shape[0] // self.chunk) for f in self.files]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class TokenJob:
    """The chunks at positions start to stop of the order."""

    layout: _Layout
    start: int
    stop: int

    @property
    def records(self) -> int:
        """Number of chunks."""
        return self.stop - self.start

    @property
    def nbytes(self) -> int:
        """Bytes of the chunks, were all full."""
        return self.records * self.layout.chunk * np.dtype(self.layout.dtype).itemsize

    def read(self) -> Iterator[Block]:
        """The chunks as columns, about a MiB at a time."""
        firsts = self.layout.firsts()
        step = max(1, CHUNK_BYTES * self.records // max(1, self.nbytes))
        opened: tuple[int, NDArray[Any] | None] = (-1, None)
        for at in range(self.start, self.stop, step):
            chunks = self.layout.order.rows(at, min(at + step, self.stop))
            tokens, documents = [], []
            for chunk in chunks.tolist():
                file = int(np.searchsorted(firsts, chunk, side="right")) - 1
                if file != opened[0] or opened[1] is None:
                    opened = (file, self.layout.files[file].open())
                array = opened[1]
                if array is None:
                    continue
                begin = (chunk - int(firsts[file])) * self.layout.chunk
                part = np.asarray(array[begin : begin + self.layout.chunk])
                tokens.append(part.astype(self.layout.dtype))
                if self.layout.eos is not None:
                    before = int(array[begin - 1]) if begin else self.layout.eos
                    documents.append(_starts(part, before, self.layout.eos))
            yield _block(tokens, documents)


def _starts(part: NDArray[Any], before: int, eos: int) -> NDArray[np.uint32]:
    """Where documents start in a chunk that comes after the token `before`."""
    after = np.flatnonzero(part[:-1] == eos) + 1
    head = [0] if before == eos else []
    return np.concatenate([head, after]).astype(np.uint32)


def _block(tokens: list[NDArray[Any]], documents: list[NDArray[np.uint32]]) -> Block:
    columns: dict[str, Column] = {"tokens": _column(tokens)}
    if documents:
        columns["documents"] = _column(documents)
    return Block(len(tokens), columns, sum(c.nbytes for c in columns.values()))


def _column(parts: Sequence[NDArray[Any]]) -> VarColumn:
    lengths = np.array([len(p) for p in parts], np.int64)
    return VarColumn(np.concatenate(parts), np.cumsum(lengths) - lengths, lengths)
