"""Memory by address, for kernels that read from many arrays in one call.

numba takes an array or a tuple of a fixed number of them; a batch is gathered from as many blocks
as it happens to need. So its kernels get a table of addresses, and read with these. Nothing is
checked here: a caller has proven that the bytes lie inside an array that lives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

from forebay.kernels.compiled import compiled

__all__ = ["copy_bytes", "load_i64", "prefetch", "prefetch_run", "typed_at"]

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


def _load_i64(typing: Any, address: Any) -> Any:
    """The int64 at an address (uint64) that is a multiple of 8."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

    return types.int64(types.uint64), generate


def _prefetch(typing: Any, address: Any) -> Any:
    """Asks for the cache line at an address (uint64), which may be any number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [_BYTES, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        # For reading, kept in all caches, data.
        numbers = [ir.Constant(word, n) for n in (0, 3, 1)]
        builder.call(function, [builder.inttoptr(arguments[0], _BYTES), *numbers])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


def _typed_at(typing: Any, address: Any, like: Any) -> Any:
    """A pointer to values of the dtype of array `like` at an address (uint64), for `carray`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    pointer: Any = types.CPointer
    return pointer(like.dtype)(types.uint64, like), generate


# An intrinsic is called with other arguments than it is written with: types have no say.
copy_bytes: Any = intrinsic(_copy_bytes)
load_i64: Any = intrinsic(_load_i64)
prefetch: Any = intrinsic(_prefetch)
typed_at: Any = intrinsic(_typed_at)

_LINE = 64
_MOST = 512


@compiled()
def prefetch_run(address: np.uint64, nbytes: int) -> None:
    """Asks for the lines of a run of bytes, up to the first 512: the processor guesses the rest."""
    for skip in range(0, min(nbytes, _MOST), _LINE):
        prefetch(address + np.uint64(skip))
