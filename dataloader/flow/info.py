"""What the loader tells about a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.fault import Fault


@dataclass(frozen=True, slots=True, eq=False)
class BatchInfo:
    """About the batch last delivered.

    Args:
        positions: (N,) int64, the samples' places in the epoch's global order.
        n: samples of this rank's batch that count: the first n of its N. Those behind come a second
            time, so that all ranks have equally many.
        n_global: samples of this step over all ranks that count, as it was planned: what other
            ranks left out of it, by a filter or for a fault, is not known here.
        weight: n * ranks / n_global: the factor that makes a mean over ranks a mean over samples,
            where nothing was left out; 0 of a batch without samples.
        after: where the next step begins in the epoch's global order.
        lengths: of each padded field, (N,) int64: elements of each sample without the padding.
        faults: samples of it that could not be delivered, with their place in the batch as it was
            planned; where another record stands in at that place it says which, else the sample is
            left out and those behind it moved up.
        sources: of a mixture, (N,) int64, the number of each sample's dataset; else None.
    """

    epoch: int
    step: int
    positions: NDArray[np.int64]
    n: int
    n_global: int
    weight: float
    after: int
    lengths: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    sources: NDArray[np.int64] | None = None
