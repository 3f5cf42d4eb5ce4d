"""What the decode stage asks of an image decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Encoded = Sequence[memoryview]
"""The bytes of encoded images, alive as long as their blocks."""
Bad = dict[int, Exception]
"""Places whose image cannot be delivered, and why."""


class ImageDecoder(Protocol):
    """Decodes images into their places of a batch."""

    def decode(
        self, images: Encoded, u: Sequence[Sequence[float]], out: NDArray[Any], places: Int
    ) -> Bad:
        """Writes image i to out[places[i]].

        Args:
            u: the draws of each sample, as many as its spec asks for.
            out: (N, *shape) of the spec, the caller's.

        Returns:
            The places whose bytes are no whole image; they hold anything.
        """
        ...
