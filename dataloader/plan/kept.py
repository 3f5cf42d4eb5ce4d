"""Orders over the rows that a filter keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.ranks import Ranks
from forebay.dataloader.plan.order import Int, Order, Uses


class KeptRows:
    """An order whose blocks have the kept rows alone, told as rows of the blocks as stored.

    Args:
        first_row: (blocks + 1,) int64, of the kept rows.
        kept: (rows,) of each kept row, the row in its block.
    """

    def __init__(
        self, order: Order, first_row: Int, kept: NDArray[np.unsignedinteger[Any]]
    ) -> None:
        self._order, self._first_row, self._kept = order, first_row, kept

    def locate(self, positions: Int) -> tuple[Int, Int]:
        blocks, rows = self._order.locate(positions)
        return blocks, self._kept[self._first_row[blocks] + rows].astype(np.int64)

    def uses(self, ranks: Ranks) -> Uses | None:
        return self._order.uses(ranks)
