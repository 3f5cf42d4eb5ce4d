"""Which rows of which resident blocks go to which places: what gathering a ticket begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ticket import LoadKey, Slice
from forebay.formats.column import Block, Column

Int = NDArray[np.int64]
Bad = dict[int, Exception]
"""Places whose row cannot be delivered, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Rows that can be read.

    Args:
        blocks: the resident blocks.
        bounds: (len(blocks) + 1,) int64; rows bounds[i] up to bounds[i + 1] are of block i.
        rows: (n,) int64, rows of their blocks.
        places: (n,) int64, where in the ticket they go.
        which: (n,) int64, the block of each row.
    """

    blocks: tuple[Block, ...]
    bounds: Int
    rows: Int
    places: Int
    which: Int = field(init=False)

    def __post_init__(self) -> None:
        # Once: every field of a ticket asks for it.
        which = np.repeat(np.arange(len(self.blocks)), np.diff(self.bounds))
        object.__setattr__(self, "which", which)

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self, name: str) -> list[Column]:
        """The field's column in each block."""
        return [block.columns[name] for block in self.blocks]

    def runs(self, name: str) -> list[tuple[Any, Int, Int]]:
        """(column, rows, places) for each block."""
        edges = self.bounds.tolist()
        return [
            (block.columns[name], self.rows[a:b], self.places[a:b])
            for block, a, b in zip(self.blocks, edges[:-1], edges[1:], strict=True)
        ]


def select(piece: Slice, blocks: Mapping[LoadKey, Block]) -> tuple[Selection, Bad]:
    """What of a slice can be read, and the places of rows that came damaged.

    Rows of loads that are not in `blocks` are left out of both.
    """
    bad: Bad = {}
    if len(blocks) == len(piece.keys) and not any(b.damaged for b in blocks.values()):
        # The usual case, without a look at single runs.
        return Selection(
            tuple(blocks[key] for key in piece.keys), piece.bounds, piece.rows, piece.places
        ), bad
    chosen: list[Block] = []
    rows: list[Int] = []
    places: list[Int] = []
    for key, at, inside in piece.runs():
        block = blocks.get(key)
        if block is None:
            continue
        lost = [block.damaged.get(row) for row in inside.tolist()]
        bad |= {p: e for p, e in zip(at.tolist(), lost, strict=True) if e is not None}
        good = np.array([error is None for error in lost], bool)
        chosen.append(block)
        rows.append(inside[good])
        places.append(at[good])
    empty = np.empty(0, np.int64)
    bounds = np.r_[0, np.cumsum([len(r) for r in rows], dtype=np.int64)].astype(np.int64)
    return Selection(
        tuple(chosen), bounds, np.concatenate([empty, *rows]), np.concatenate([empty, *places])
    ), bad
