"""Compiling kernels: from numba's cache where there is a folder for it, else in each process."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compiled"]

F = TypeVar("F", bound="Callable[..., Any]")


def compiled(signature: Any = None) -> Callable[[F], F]:
    """Compiles a function to machine code that runs without the GIL.

    Where nothing can be written, neither beside this package nor under the home folder nor in
    NUMBA_CACHE_DIR, it is compiled anew by each process (about a second in all), and the log says
    so once.

    Args:
        signature: numba's type of the function, to compile it here and now; without one it is
            compiled when it is first called with arguments of some types.
    """

    def compile_it(function: F) -> F:
        try:
            kernel: F = njit(signature, nogil=True, cache=True)(function)
        except (RuntimeError, OSError):
            # numba raises the first where it finds no folder, the second where a disk is full.
            kernel = njit(signature, nogil=True)(function)
            _say_uncached()
        return kernel

    return compile_it


@lru_cache(maxsize=1)
def _say_uncached() -> None:
    logging.getLogger("forebay.kernels").info(
        "kernels are compiled again by each process, for there is no folder to keep them in: "
        "set NUMBA_CACHE_DIR to one that can be written"
    )
