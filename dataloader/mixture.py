"""Several datasets in one loader."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.plan.shares import CYCLE, Shares, quotas
from forebay.formats.block_table import BlockTable, joined
from forebay.formats.column import Block
from forebay.formats.dataset import ShardDataset
from forebay.formats.record import Schema
from forebay.formats.shard import ReadTally, ShardEntry

Int = NDArray[np.int64]


def mix(
    datasets: Mapping[str, ShardDataset],
    weights: Mapping[str, float] | None = None,
    epoch: str | int = "longest",
) -> Mixture:
    """Several datasets as one, for a `DataLoader`.

    Every some thousand samples have the shares that the weights say, and their last batches too as
    nearly as whole numbers can. In a share each dataset's samples come in its own order, each once
    before any comes again; what an epoch does not reach comes first in the next.

    Args:
        datasets: by name; of equal columns and fields.
        weights: of each, of any sum; by default their lengths. A share is a whole number of at most
            4096ths, and so wrong by less than 1/4096; one below that becomes that. A dataset of
            weight 0 does not come until `DataLoader.set_weights` gives it another.
        epoch: what ends an epoch: "longest", when each sample of every dataset has come,
            "shortest", when the first dataset has no other left, of those with a weight; both in
            whole cycles of the shares, which are as short as these allow (7 to 3 has one of 10
            samples); or a number of samples.

    Raises:
        TypeError, ValueError: an argument is wrong, or fields differ; says which.
    """
    if not isinstance(datasets, Mapping) or not datasets:
        raise TypeError(f"mix takes a dict of name: dataset, got {datasets!r:.100}")
    for name, dataset in datasets.items():
        if not isinstance(name, str) or not name or "/" in name:
            raise ValueError(f"a dataset's name must be a text without '/', got {name!r}")
        if not isinstance(dataset, ShardDataset):
            raise TypeError(
                f"{name!r} must be a dataset from forebay.open_dataset, "
                f"got {type(dataset).__name__}"
            )
        if not len(dataset):
            raise ValueError(f"{name!r} has no samples: leave it out")
    if len(datasets) > CYCLE:
        raise ValueError(f"mix takes at most {CYCLE} datasets, got {len(datasets)}")
    _check_alike(datasets)
    lengths = np.array([len(d) for d in datasets.values()], np.int64)
    quota = quotas(lengths.tolist() if weights is None else _weights_of(datasets, weights))
    return Mixture(dict(datasets), Shares(quota, _total_of(epoch, quota, lengths)))


class Mixture:
    """What `mix` makes: the samples of several datasets, in no order of its own.

    It goes to a `DataLoader` alone, which orders it; `len()` is the samples of an epoch.

    Attributes:
        datasets: by name, in the order in which `batch_info.sources` numbers them.
        shares: how an epoch is dealt to them.
        bounds: (datasets + 1,) int64, the first block of each, and all.
    """

    record_readable = False
    generation = 0

    def __init__(self, datasets: dict[str, ShardDataset], shares: Shares) -> None:
        self.datasets, self.shares = datasets, shares
        self._names, self._parts = tuple(datasets), tuple(datasets.values())
        first = self._parts[0]
        self.schema: Schema = first.schema
        self.columns = first.columns
        stored = [part.stored for part in self._parts]
        self.stored = sum(stored)
        self.blocks: BlockTable = joined([part.blocks for part in self._parts], stored)
        counts = [len(part.blocks) for part in self._parts]
        self.bounds: Int = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        told = [[name, part.fingerprint] for name, part in datasets.items()]
        text = json.dumps(["forebay-mixture-1", told])
        self.stored_fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self.filtered = None

    @property
    def fingerprint(self) -> str:
        """64 hex digits, equal where names and data are."""
        return self.stored_fingerprint

    @property
    def sample_memory(self) -> int:
        """Bytes that a stored sample takes in memory, of the dataset where it takes most."""
        return max(part.sample_memory for part in self._parts)

    def __len__(self) -> int:
        return self.shares.total

    def quota(self, weights: Mapping[str, float]) -> Int:
        """(datasets,) samples of each in a cycle that has these weights.

        Raises:
            TypeError, ValueError: they are none.
        """
        return quotas(_weights_of(self.datasets, weights))

    def __repr__(self) -> str:
        size = int(self.shares.quota.sum())
        told = ", ".join(
            f"{name} {quota / size:.2%} of {len(part)}"
            for (name, part), quota in zip(
                self.datasets.items(), self.shares.quota.tolist(), strict=True
            )
        )
        return f"<Mixture of {len(self)} samples an epoch: {told}>"

    def shard_of(self, block: int) -> tuple[ShardEntry, int]:
        """(shard, index in it) of a block; its file is named with its dataset."""
        name, part, inside = self._part(block)
        shard, at = part.shard_of(inside)
        return replace(shard, file=f"{name}/{shard.file}"), at

    def cost(self, block: int, rows: Int | None = None) -> tuple[int, int]:
        """As `ShardDataset.cost`."""
        _, part, inside = self._part(block)
        return part.cost(inside, rows)

    def read(self, block: int, rows: Int | None = None, tally: ReadTally | None = None) -> Block:
        """As `ShardDataset.read`."""
        _, part, inside = self._part(block)
        return part.read(inside, rows, tally)

    def read_rows(self, rows: Int, tally: ReadTally | None = None) -> Block:
        """Mixtures read whole blocks."""
        raise TypeError("single records of a mixture cannot be read")

    def rows_cost(self, rows: Int) -> tuple[int, int]:
        """Mixtures read whole blocks."""
        raise TypeError("single records of a mixture cannot be read")

    def overhead(self, limit: int) -> int:
        """As `ShardDataset.overhead`, each dataset with an equal part of the limit."""
        whole = limit >= 1 << 62
        part_of = limit if whole else limit // len(self._parts)
        return sum(part.overhead(part_of) for part in self._parts)

    def _part(self, block: int) -> tuple[str, ShardDataset, int]:
        c = int(np.searchsorted(self.bounds, block, side="right")) - 1
        return self._names[c], self._parts[c], block - int(self.bounds[c])


def _check_alike(datasets: Mapping[str, ShardDataset]) -> None:
    (first, model), *others = datasets.items()
    for name, dataset in others:
        if (dataset.columns is None) != (model.columns is None):
            raise ValueError(
                f"{name!r} was opened {'without' if dataset.columns is None else 'with'} columns=, "
                f"{first!r} was not: samples would be tuples here and dicts there"
            )
        ours, theirs = dataset.schema.names, model.schema.names
        if ours != theirs:
            raise ValueError(
                f"{name!r} has the fields {ours}, {first!r} has {theirs}: open both with the same "
                "columns="
            )
        for a, b in zip(dataset.schema, model.schema, strict=True):
            if replace(a, classes=()) != replace(b, classes=()):
                raise ValueError(
                    f"field {a.name!r} is {a.spec!r} in {name!r}, {b.spec!r} in {first!r}"
                )


def _weights_of(datasets: Mapping[str, ShardDataset], weights: Mapping[str, float]) -> list[float]:
    if not isinstance(weights, Mapping) or set(weights) != set(datasets):
        raise ValueError(
            f"weights must be a dict with one for each of {sorted(datasets)}, got {weights!r:.200}"
        )
    for name, weight in weights.items():
        if not isinstance(weight, int | float) or isinstance(weight, bool):
            raise TypeError(f"the weight of {name!r} must be a number, got {weight!r}")
        if not math.isfinite(weight) or weight < 0:
            raise ValueError(f"the weight of {name!r} must be finite and not below 0, got {weight}")
    if not any(weights.values()):
        raise ValueError("all weights are 0: one must be above")
    return [float(weights[name]) for name in datasets]


def _total_of(epoch: object, quota: Int, lengths: Int) -> int:
    cycle = int(quota.sum())
    lengths, quota = lengths[quota > 0], quota[quota > 0]
    match epoch:
        case "longest":
            return cycle * int((-(-lengths // quota)).max())
        case "shortest":
            if not (total := cycle * int((lengths // quota).min())):
                raise ValueError(
                    f'epoch="shortest" has no sample: a dataset has fewer than its part of a cycle '
                    f"of {cycle} samples; give a number, or weights of small whole numbers"
                )
            return total
        case int() if not isinstance(epoch, bool):
            if not 0 < epoch < 1 << 62:
                raise ValueError(f"epoch must be above 0 samples, got {epoch}")
            return epoch
    raise ValueError(f'epoch must be "longest", "shortest" or a number of samples, got {epoch!r}')
