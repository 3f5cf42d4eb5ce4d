"""Slots: the memory a batch is built in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DenseField:
    """A field that becomes one tensor of shape (n, *shape).

    `dtype` is NumPy's name of the element type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str

    def nbytes(self, n: int) -> int:
        """Bytes of the field in a batch of n samples."""
        return n * math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """What a batch will hold, declared before the loop.

    Args:
        dense: fields with one shape for all samples.
        lists: fields whose samples differ in size; they become Python lists.
        padded: fields whose samples differ in size and are padded to the longest of their batch.
        list_bytes: estimated bytes of one sample's lists and padded fields together, and of what
            user code makes of it.
        samples: whether user code makes samples of the fields, which become the batch.
    """

    dense: tuple[DenseField, ...]
    lists: tuple[str, ...]
    padded: tuple[str, ...] = ()
    list_bytes: int = 0
    samples: bool = False

    def nbytes(self, n: int) -> int:
        """Bytes to charge for a batch of n samples."""
        return sum(f.nbytes(n) for f in self.dense) + n * self.list_bytes


@dataclass(slots=True, eq=False)
class Slot:
    """The memory of one ticket of n samples.

    Args:
        arrays: by dense field, (n, *shape); threads write disjoint places of it.
        lists: by list field, n values, None until written.
        take: gives more memory of the same kind, in bytes, for fields whose size shows late.
        padded: by padded field, one array (samples, longest) for each batch of the ticket.
        lengths: by padded field, (n,) int64, elements of each sample without the padding.
        samples: n samples that user code made of the fields, None until made; or None where it
            makes none.
        left_out: places of samples that the filter refused.
        expected: bytes charged for lists, padded fields and samples beforehand, by estimate.
        written: bytes that these hold so far.
        grown: bytes charged for them beyond the estimate.
        batch_bytes: of the finished batches, where these are not made of the slot's own memory.
    """

    n: int
    arrays: dict[str, NDArray[Any]]
    lists: dict[str, list[Any]]
    take: Callable[[int], NDArray[np.uint8]]
    padded: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    lengths: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    samples: list[Any] | None = None
    left_out: set[int] = field(default_factory=set)
    expected: int = 0
    written: int = 0
    grown: int = 0
    batch_bytes: int | None = None
