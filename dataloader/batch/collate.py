"""Samples of any structure become a batch of the same structure.

As torch's `default_collate`, but that what differs from sample to sample is named and refused: a
dtype, say, must not depend on which samples meet in a batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

TAKES = "tensors, NumPy arrays, numbers, str, bytes, and dicts, tuples and lists of these"


class Unlike(Exception):
    """A sample does not go with the first of its batch, or cannot be collated at all.

    Args:
        index: of the sample in the batch.
        got: where in it, and what is there.
        first: what the first sample has there; None where it does not matter.
    """

    def __init__(self, index: int, got: str, first: str | None) -> None:
        super().__init__(index, got, first)
        self.index, self.got, self.first = index, got, first


def collate(samples: Sequence[Any]) -> Any:
    """The batch of at least one sample.

    Tensors and arrays are stacked, (...) to (N, ...), into new memory; numbers become a tensor
    (N,): Python's of float64, int64 or bool, NumPy's of their dtype. str, bytes and None become a
    list. Of dicts, tuples, named tuples and lists every part is collated; a tuple becomes a list.

    Raises:
        Unlike: samples differ in structure, keys, shapes or types.
    """
    return _collate(_Part("", samples))


class _Part(NamedTuple):
    """The same part of all samples, and how it is written where it is found."""

    path: str
    values: Sequence[Any]

    def alike(self, trait: Callable[[Any], Any], said: Callable[[Any], str]) -> Any:
        """The trait that all values have."""
        first = trait(self.values[0])
        for i, value in enumerate(self.values):
            if trait(value) != first:
                raise Unlike(i, self.at(said(value)), said(self.values[0]))
        return first

    def at(self, what: str) -> str:
        return f"{self.path or 'the sample'} is {what}"


def _collate(part: _Part) -> Any:
    first = part.values[0]
    kind = part.alike(_kind, _named)
    if kind is torch.Tensor:
        part.alike(lambda v: (v.shape, v.dtype), _described)
        return torch.stack(list(part.values))
    if kind is np.ndarray:
        part.alike(lambda v: (v.shape, v.dtype), _described)
        return _tensor(part, np.stack(part.values))
    if kind is np.generic:
        part.alike(lambda v: v.dtype, _described)
        return _tensor(part, np.array(part.values))
    if kind in (bool, int, float):
        return _numbers(part, kind)
    if kind is str:
        if not part.path and None in part.values:
            raise Unlike(list(part.values).index(None), "None, not a sample", None)
        return list(part.values)
    if kind is Mapping:
        return _mapping(part, first)
    if issubclass(kind, tuple | list):
        length = part.alike(len, lambda v: f"a {type(v).__name__} of {len(v)}")
        values = zip(*part.values, strict=True) if length else []
        parts = [_collate(_Part(f"{part.path}[{i}]", v)) for i, v in enumerate(values)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise Unlike(0, part.at(f"{_named(first)}, which is none of {TAKES}"), None)


def _numbers(part: _Part, kind: type) -> torch.Tensor:
    try:
        return torch.tensor(part.values, dtype=_DTYPES[kind])
    except (OverflowError, ValueError, RuntimeError):  # which of them depends on torch's version
        fits = range(-(2**63), 2**63)
        index = next(i for i, v in enumerate(part.values) if kind is int and v not in fits)
        what = f"the int {part.values[index]}, which int64 does not hold"
        raise Unlike(index, part.at(what), None) from None


def _mapping(part: _Part, first: Mapping[Any, Any]) -> Any:
    part.alike(lambda v: v.keys(), lambda v: f"a dict of {sorted(map(repr, v))}")
    made = {
        key: _collate(_Part(f"{part.path}[{key!r}]", [v[key] for v in part.values]))
        for key in first
    }
    if type(first) is dict or not isinstance(first, MutableMapping):
        return made
    other = copy.copy(first)
    other.update(made)
    return other


def _tensor(part: _Part, array: Any) -> torch.Tensor:
    try:
        return torch.from_numpy(array)
    except TypeError:
        raise Unlike(
            0, part.at(f"of dtype {array.dtype}, which torch does not know"), None
        ) from None


_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}
_KINDS: tuple[type, ...] = (torch.Tensor, np.ndarray)
_LATER: tuple[type, ...] = (np.generic, bool, int, float, Mapping, tuple, list)


def _kind(value: Any) -> type:
    """What it is collated as: one of the kinds, its named tuple, or its own type."""
    for kind in _KINDS:
        if isinstance(value, kind):
            return kind
    # NumPy's strings are Python's too. Null values stay where they are, among them.
    if value is None or isinstance(value, str | bytes):
        return str
    found = next((kind for kind in _LATER if isinstance(value, kind)), type(value))
    return type(value) if found is tuple and hasattr(value, "_fields") else found


def _named(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _described(value: Any) -> str:
    dtype = str(value.dtype).removeprefix("torch.")
    return f"{dtype} of shape {tuple(value.shape)}"
