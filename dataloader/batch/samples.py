"""Single samples as user code gets them, and how large they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from forebay.dataloader.batch.stage import Decoded, seen
from forebay.dataloader.flow.slot import Slot
from forebay.formats.record import Field, Schema

OBJECT_BYTES = 100
"""Of a Python object, besides its content."""
MOST_NODES = 10_000
"""Of a sample are looked at to tell its size; of a larger one the rest counts nothing."""


class Samples:
    """Takes samples out of a slot before it is sealed.

    A sample is a tuple of the fields, or a dict. Scalars are NumPy's, fields of one shape and
    ragged ones tensors, text is str, encoded fields without a decoder are bytes, nulls None. Its
    tensors view the slot, where no other sample lies in the same place.
    """

    def __init__(self, schema: Schema, decoded: Mapping[str, Decoded], as_dict: bool) -> None:
        self._schema, self._decoded, self._as_dict = schema, dict(decoded), as_dict

    def __call__(self, slot: Slot, places: NDArray[np.int64]) -> Iterable[Any]:
        """The samples at these places, in their order."""
        names = self._schema.names
        rows = zip(*[self._column(field, slot, places) for field in self._schema], strict=True)
        if self._as_dict:
            return (dict(zip(names, row, strict=True)) for row in rows)
        return rows

    def _column(self, field: Field, slot: Slot, places: NDArray[np.int64]) -> list[Any]:
        whole = slot.arrays.get(field.name)
        if whole is None:
            values = slot.lists[field.name]
            return [_as_tensor(values[place]) for place in places.tolist()]
        if whole.ndim == 1:
            return list(whole[places])
        tensor = torch.from_numpy(whole)
        if (made := self._decoded.get(field.name)) is not None:
            tensor = seen(tensor, made)
        return [tensor[place] for place in places.tolist()]


def _as_tensor(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def sample_bytes(sample: Any) -> int:
    """About how many bytes a sample, or a batch, holds: those of its arrays, text and containers.
    Objects of other kinds count as small."""
    total, left = 0, [sample]
    for _ in range(MOST_NODES):
        if not left:
            break
        value = left.pop()
        total += OBJECT_BYTES
        if isinstance(value, torch.Tensor | np.ndarray):
            total += int(value.nbytes)
        elif isinstance(value, str | bytes | bytearray):
            total += len(value)
        elif isinstance(value, Mapping):
            left.extend(value.values())
        elif isinstance(value, list | tuple):
            left.extend(value)
    return total
