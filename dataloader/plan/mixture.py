"""The order of a mixture: each component in its own order, dealt by shares.

Positions are cut into groups. Every group has the same number of samples of each component, in
keyed order; a component's samples come as its own order has them. A component that is through
begins again, in the order of its next pass, and the next epoch goes on where this one stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from forebay.dataloader.flow.ranks import ALONE, Ranks
from forebay.dataloader.plan.order import Int, Order, Uses
from forebay.dataloader.plan.shares import Shares
from forebay.kernels.permute import permutation
from forebay.kernels.philox import derive_key

# The purpose that keys of mixtures are derived for; a number for ever, see plan.order.
PURPOSE_MIXTURE = 11

PASSES = 16
"""Of a component that has more of them in an epoch, every block is needed all the time."""
K = TypeVar("K")
V = TypeVar("V")

CACHED = 4
"""Groups, and orders of a component, that are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """One dataset of a mixture.

    Args:
        samples: of one pass.
        first_block: its blocks' first number in the mixture.
        order_of: the order of a pass, over blocks that are numbered from 0.
        told: what a cursor says of its order.
    """

    name: str
    samples: int
    blocks: int
    first_block: int
    order_of: Callable[[int], Order]
    told: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """Where the shares were changed last, and what had come before.

    Args:
        taken: by component, its samples before that position since epoch 0 began.
        quota: by component, as in `Shares`, from there on.
    """

    epoch: int
    position: int
    taken: tuple[int, ...]
    quota: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MixturePlan:
    """What the order of a mixture is a function of, besides seed, epoch and position.

    Args:
        shares: as they were at first.
        change: of the shares since.
    """

    components: tuple[Component, ...]
    shares: Shares
    change: Change | None = None

    @property
    def quota(self) -> Int:
        """(components,) samples of a cycle, as they are now."""
        return self.shares.quota if self.change is None else np.array(self.change.quota, np.int64)

    def digest(self) -> str:
        """32 hex digits that tell apart mixtures of the same data, whatever was changed since."""
        parts = [[c.name, c.samples, dict(c.told)] for c in self.components]
        told = ["forebay-mixture-1", parts, self.shares.quota.tolist(), self.shares.total]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]

    def knows(self, epoch: int, position: int) -> bool:
        """Whether the order is known there: not before the last change."""
        change = self.change
        return change is None or (epoch, position) >= (change.epoch, change.position)

    def dealing(self, epoch: int) -> tuple[int, Shares, list[int]]:
        """Of an epoch: its first position under the shares that hold, these shares from there on,
        and each component's samples that came before, since epoch 0 began."""
        total, change = self.shares.total, self.change
        if change is None:
            return 0, self.shares, [epoch * n for n in self.shares.in_epoch().tolist()]
        quota = np.array(change.quota, np.int64)
        rest, whole = Shares(quota, total - change.position), Shares(quota, total)
        if epoch == change.epoch:
            return change.position, rest, list(change.taken)
        first, each = rest.in_epoch().tolist(), whole.in_epoch().tolist()
        epochs = epoch - change.epoch - 1
        taken = [t + f + epochs * n for t, f, n in zip(change.taken, first, each, strict=True)]
        return 0, whole, taken

    def changed(self, seed: int, at: tuple[int, int], quota: Int, *, shuffled: bool) -> MixturePlan:
        """With other shares from a position of an epoch on."""
        epoch, position = at
        taken = Mixed(self, seed, epoch, shuffled=shuffled).taken(position)
        change = Change(epoch, position, tuple(taken), tuple(quota.tolist()))
        return replace(self, change=change)


class Mixed:
    """The order of one epoch of a mixture.

    Where shares were changed in this epoch, what lay before is not known any more: positions from
    there, which a last batch that is filled up asks for, are others from behind it.

    Args:
        epoch: not before the last change.
    """

    def __init__(self, plan: MixturePlan, seed: int, epoch: int, *, shuffled: bool) -> None:
        self._plan, self._seed, self._epoch, self._shuffled = plan, seed, epoch, shuffled
        self._first, self._shares, self._before = plan.dealing(epoch)
        self._in_group, self._in_last = self._shares.in_group, self._shares.in_last()
        self._in_epoch: list[int] = self._shares.in_epoch().tolist()
        # (pass, place in it) at which each component begins this epoch.
        self._begin = [
            divmod(n, max(1, c.samples)) for c, n in zip(plan.components, self._before, strict=True)
        ]
        self._groups: dict[int, tuple[Int, Int]] = {}
        self._orders: dict[tuple[int, int], Order] = {}

    def taken(self, position: int) -> list[int]:
        """Each component's samples before a position of this epoch, since epoch 0 began."""
        group, place = divmod(position - self._first, self._shares.group)
        counts = group * self._in_group
        if place:
            own = self._arranged(group)[0][:place]
            counts = counts + np.bincount(own, minlength=len(counts))
        return [a + b for a, b in zip(self._before, counts.tolist(), strict=True)]

    def locate(self, positions: Int) -> tuple[Int, Int]:
        source, count = self._dealt((positions - self._first) % max(1, self._shares.total))
        blocks, rows = np.empty_like(positions), np.empty_like(positions)
        for c, component in enumerate(self._plan.components):
            places = np.flatnonzero(source == c)
            if not len(places):
                continue
            turn, inside = np.divmod(self._begin[c][1] + count[places], component.samples)
            for number in np.unique(turn).tolist():
                at = turn == number
                found = self._order(c, number).locate(inside[at])
                blocks[places[at]] = found[0] + component.first_block
                rows[places[at]] = found[1]
        return blocks, rows

    def uses(self, ranks: Ranks) -> Uses | None:
        """Of every rank alike: which component a position is of is not the rank's own."""
        found: list[tuple[Int, Int, Int]] = []
        for c in range(len(self._plan.components)):
            of = self._component_uses(c)
            if of is None:
                return None
            found += of
        blocks, first, last = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return _merged(blocks, first + self._first, last + self._first)

    def _component_uses(self, c: int) -> list[tuple[Int, Int, Int]] | None:
        """(blocks, first, last position) of its uses; None where any position may need any."""
        component, n, begin = self._plan.components[c], self._in_epoch[c], self._begin[c][1]
        nothing = np.empty(0, np.int64)
        found = [(nothing, nothing, nothing)]
        turns = range(-(-(begin + n) // max(1, component.samples)) if n else 0)
        if len(turns) > PASSES:
            every = np.arange(component.blocks, dtype=np.int64) + component.first_block
            last = np.full_like(every, self._shares.total - 1)
            return [(every, np.zeros_like(every), last)]
        for turn in turns:
            uses = self._order(c, turn).uses(ALONE)
            if uses is None:
                return None
            first, last = (at + turn * component.samples - begin for at in (uses.first, uses.last))
            met = (last >= 0) & (first < n)
            first, last = np.maximum(first[met], 0), np.minimum(last[met], n - 1)
            group = self._shares.group
            beginning = self._group_of(c, first) * group
            end = np.minimum((self._group_of(c, last) + 1) * group, self._shares.total) - 1
            found.append((uses.blocks[met] + component.first_block, beginning, end))
        return found

    def _group_of(self, c: int, count: Int) -> Int:
        """The group that has the component's sample number `count` of the epoch."""
        shares = self._shares
        found: Int = np.minimum(count // int(self._in_group[c]), shares.total // shares.group)
        return found

    def _dealt(self, positions: Int) -> tuple[Int, Int]:
        """Each position's component, and how many of its samples came before in this epoch."""
        size = self._shares.group
        group = positions // size
        source, count = np.empty_like(positions), np.empty_like(positions)
        for number in np.unique(group).tolist():
            at = np.flatnonzero(group == number)
            of, rank = self._arranged(number)
            place = positions[at] - number * size
            source[at] = of[place]
            count[at] = number * self._in_group[of[place]] + rank[place]
        return source, count

    def _arranged(self, number: int) -> tuple[Int, Int]:
        """(component, how many of it came before in the group) at each place of a group."""
        if number in self._groups:
            return self._groups[number]
        shares = self._shares
        whole = number < shares.total // shares.group
        counts = self._in_group if whole else self._in_last
        laid = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        rank = np.arange(len(laid)) - (np.cumsum(counts) - counts)[laid]
        if self._shuffled:
            key = derive_key(self._seed, self._epoch, PURPOSE_MIXTURE, self._first + number)
            of = laid[permutation(len(laid), key)]
            before = np.empty_like(of)
            before[np.argsort(of, kind="stable")] = rank
        else:
            evenly = np.argsort((rank + 0.5) / counts[laid], kind="stable")
            of, before = laid[evenly], rank[evenly]
        return _keep(self._groups, number, (of, before))

    def _order(self, c: int, turn: int) -> Order:
        """A component's order in a pass of this epoch, counted from 0."""
        if (c, turn) in self._orders:
            return self._orders[c, turn]
        number = (self._begin[c][0] + turn) % 2**64
        limit = CACHED * len(self._plan.components)
        return _keep(self._orders, (c, turn), self._plan.components[c].order_of(number), limit)


def _keep(kept: dict[K, V], key: K, value: V, limit: int = CACHED) -> V:
    """The value, kept in place of the oldest."""
    while len(kept) >= limit:
        del kept[next(iter(kept))]
    kept[key] = value
    return value


def _merged(blocks: Int, first: Int, last: Int) -> Uses:
    """Uses of a block that touch become one; in each block later uses end later."""
    order = np.lexsort((first, blocks))
    blocks, first, last = blocks[order], first[order], last[order]
    fresh = np.ones(len(blocks), np.bool_)
    fresh[1:] = (blocks[1:] != blocks[:-1]) | (first[1:] > last[:-1] + 1)
    begins = np.flatnonzero(fresh)
    ends = np.r_[begins[1:], len(blocks)] - 1
    merged = blocks[begins]
    again = np.zeros(len(merged), np.bool_)
    again[:-1] = merged[1:] == merged[:-1]
    return Uses(merged, first[begins], last[ends], again)
