"""Instructions that numba has no name for, for kernels: memory by address.

Importing this imports numba; `kernels/address.py` does so when the first kernel needs it, and tells
what each is for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

__all__ = ["copy_bytes", "typed_at"]

cgutils: Any = _cgutils
_BYTES = ir.IntType(8).as_pointer()


def _copy_bytes(typing: Any, target: Any, source: Any, nbytes: Any) -> Any:
    """Copies `nbytes` (int64, >= 0) from address `source` to address `target` (both uint64)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, start, size = arguments
        cgutils.raw_memcpy(
            builder, builder.inttoptr(to, _BYTES), builder.inttoptr(start, _BYTES), size, 1
        )
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.int64), generate


def _typed_at(typing: Any, address: Any, like: Any) -> Any:
    """A pointer to values of the dtype of array `like` at an address (uint64), for `carray`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    pointer: Any = types.CPointer
    return pointer(like.dtype)(types.uint64, like), generate


# An intrinsic is called with other arguments than it is written with: types have no say.
copy_bytes: Any = intrinsic(_copy_bytes)
typed_at: Any = intrinsic(_typed_at)
