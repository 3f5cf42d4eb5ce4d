"""Kernels that numba compiles, each when it is first called: what is not used costs nothing.

numba alone takes a third of a second to import, and a kernel up to two seconds to compile where
numba's cache does not have it yet. The cache lies beside this package, else under the home folder,
or in NUMBA_CACHE_DIR. numba keys what is in it by source, processor and version.
"""

from __future__ import annotations

import logging
import threading
from functools import lru_cache, update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compiled", "imported"]

F = TypeVar("F", bound="Callable[..., Any]")
_lock = threading.RLock()


class _Later:
    """What stands in a module for a kernel until it is called, or compiled into another."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return self.made()(*arguments)

    def made(self) -> Any:
        """What it stands for."""
        if self._made is None:
            with _lock:
                if self._made is None:
                    self._made = self._make()
        return self._made


def _settle(function: Any) -> None:
    # numba takes names for what they stand for in the module when it compiles. What a kernel calls
    # is compiled before it, so that there are only kernels behind the names by then.
    names = function.__globals__
    for name in function.__code__.co_names:
        if isinstance(called := names.get(name), _Later):
            names[name] = called.made()


def compiled(signature: str | None = None) -> Callable[[F], F]:
    """Compiles a function to machine code that runs without the GIL, when it is first called.

    Where nothing can be written, neither beside this package nor under the home folder nor in
    NUMBA_CACHE_DIR, it is compiled anew by each process (seconds in all), and the log says so once.

    Args:
        signature: its type, an expression over the names of `numba.types`; without one it is
            compiled for each combination of types that it is called with.
    """

    def later(function: Any) -> Any:
        def make() -> Any:
            _settle(function)
            made = _compile(signature, function)
            function.__globals__[function.__name__] = made
            return made

        return update_wrapper(cast("Any", _Later(make)), function)

    return later


def imported(module: str, name: str) -> Any:
    """A name of a module that imports numba, for kernels: the module is imported with the first."""
    return _Later(lambda: getattr(import_module(module), name))


def _compile(signature: str | None, function: Any) -> Any:
    from numba import njit

    try:
        return njit(signature, nogil=True, cache=True)(function)
    except (RuntimeError, OSError):
        # numba raises the first where it finds no folder, the second where a disk is full.
        _say_uncached()
        return njit(signature, nogil=True)(function)


@lru_cache(maxsize=1)
def _say_uncached() -> None:
    logging.getLogger("forebay.kernels").info(
        "kernels are compiled again by each process, for there is no folder to keep them in: "
        "set NUMBA_CACHE_DIR to one that can be written"
    )
