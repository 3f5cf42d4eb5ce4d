"""Memory by address, for kernels that read from many arrays in one call.

numba takes an array or a tuple of a fixed number of them; a batch is gathered from as many blocks
as it happens to need. So its kernels get a table of addresses, and read with these. Nothing is
checked here: a caller has proven that the bytes lie inside an array that lives.
"""

from __future__ import annotations

import numpy as np

from forebay.kernels.compiled import compiled, imported

__all__ = ["copy_bytes", "load_i64", "prefetch", "prefetch_run", "typed_at"]

_HOME = "forebay.kernels.instructions"
copy_bytes = imported(_HOME, "copy_bytes")
load_i64 = imported(_HOME, "load_i64")
prefetch = imported(_HOME, "prefetch")
typed_at = imported(_HOME, "typed_at")

_LINE = 64
_MOST = 512


@compiled()
def prefetch_run(address: np.uint64, nbytes: int) -> None:
    """Asks for the lines of a run of bytes, up to the first 512: the processor guesses the rest."""
    for skip in range(0, min(nbytes, _MOST), _LINE):
        prefetch(address + np.uint64(skip))
