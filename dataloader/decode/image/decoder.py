"""What the decode stage asks of an image decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Bad = dict[int, Exception]
"""Places whose image cannot be delivered, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Encoded images in one buffer, alive as long as their block.

    Image i is values[starts[i] : starts[i] + lengths[i]].
    """

    values: NDArray[np.uint8]
    starts: Int
    lengths: Int

    def __len__(self) -> int:
        return len(self.starts)

    def view(self, i: int) -> NDArray[np.uint8]:
        """The bytes of image i, not copied."""
        start = int(self.starts[i])
        return self.values[start : start + int(self.lengths[i])]

    def take(self, which: Int) -> Encoded:
        """Some of them."""
        return Encoded(self.values, self.starts[which], self.lengths[which])


class ImageDecoder(Protocol):
    """Decodes images into their places of a batch."""

    def decode(
        self, encoded: Encoded, u: Sequence[Sequence[float]], out: NDArray[Any], places: Int
    ) -> Bad:
        """Writes image i to out[places[i]].

        Args:
            u: the draws of each sample, as many as its spec asks for.
            out: (N, *shape) of the spec, the caller's.

        Returns:
            The places whose bytes are no whole image; they hold anything.
        """
        ...
