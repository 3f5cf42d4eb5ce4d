"""Random numbers for user code: a generator for each sample, the same wherever it is made."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Self

import numpy as np

from forebay.dataloader.flow.errors import OutsideSample
from forebay.kernels.philox import derive_key

# The purpose that keys of user code are derived for; a number for ever, see plan.order. A further
# word tells the generator that is asked for from the seeds of the global ones.
PURPOSE_USER_CODE = 10
_ASKED_FOR, _GLOBALS = 0, 1


def asked_key(seed: int, epoch: int) -> tuple[int, int]:
    """The key of what `sample_rng` gives in one epoch."""
    return derive_key(seed, epoch, PURPOSE_USER_CODE, _ASKED_FOR)


def globals_key(seed: int, epoch: int) -> tuple[int, int]:
    """The key of the seeds that global generators get in one epoch."""
    return derive_key(seed, epoch, PURPOSE_USER_CODE, _GLOBALS)


class OfSample:
    """While a `with` block of it runs, `sample_rng` gives the generator of one sample.

    Args:
        key: from `asked_key`.
        position: of the sample in the epoch's order.
    """

    __slots__ = ("_generator", "_key", "_position", "_token")

    def __init__(self, key: tuple[int, int], position: int) -> None:
        self._key, self._position = key, position
        self._generator: np.random.Generator | None = None

    def __enter__(self) -> Self:
        self._token: Token[OfSample | None] = _now.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _now.reset(self._token)

    @property
    def generator(self) -> np.random.Generator:
        # Made when it is asked for: it costs more than much user code.
        if self._generator is None:
            entropy = np.random.SeedSequence((*self._key, self._position))
            self._generator = np.random.Generator(np.random.Philox(entropy))
        return self._generator


_now: ContextVar[OfSample | None] = ContextVar("forebay_sample", default=None)


def sample_rng() -> np.random.Generator:
    """The random generator of the sample that `map` or `filter` is at work on.

    A Philox generator whose stream is a function of (seed, epoch, position) alone: the same on any
    number of threads and ranks, and after a resume. All calls for one sample, those of `filter`
    and of `map`, give the same generator, which goes on. It may be kept, and belongs to the caller.

    Raises:
        OutsideSample: called where no sample is being made, or in a thread that user code started.
    """
    now = _now.get()
    if now is None:
        raise OutsideSample(
            "sample_rng() is called where no sample is being made: it works inside the map= and "
            "filter= of a DataLoader, in the thread that calls them; elsewhere use "
            "numpy.random.default_rng(seed), and give threads of your own the generator itself"
        )
    return now.generator
