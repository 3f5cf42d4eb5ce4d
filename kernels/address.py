"""Memory by address, for kernels that read from many arrays in one call.

numba takes an array or a tuple of a fixed number of them; a batch is gathered from as many blocks
as it happens to need. So its kernels get a table of addresses, and read with these. Nothing is
checked here: a caller has proven that the bytes lie inside an array that lives.
"""

from __future__ import annotations

from forebay.kernels.compiled import imported

__all__ = ["copy_bytes", "typed_at"]

_HOME = "forebay.kernels.instructions"
copy_bytes = imported(_HOME, "copy_bytes")
typed_at = imported(_HOME, "typed_at")
