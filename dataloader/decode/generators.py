"""The global random generators while user code runs: `random`, `numpy.random` and torch's default.

They belong to the process. Where the loader works in the program's main thread it has them to
itself for as long as user code runs: each is seeded for every sample, and then given back as it
was. That is always done, some 7 us a sample: whether a function draws shows only when it has, and
a number that was drawn from no seed of its own cannot be drawn again. In other threads they are
anybody's: there they are only looked at, to warn of code that draws from them.
"""

from __future__ import annotations

import logging
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.flow.sample_rng import globals_key
from forebay.dataloader.flow.ticket import Ticket
from forebay.kernels.philox import draws

log = logging.getLogger("forebay")

SeedFor = Callable[[int], None]


class TorchGenerator(Protocol):
    """torch's default generator, which this room knows by its methods alone."""

    def get_state(self) -> Any: ...

    def set_state(self, state: Any) -> Any: ...

    def manual_seed(self, seed: int) -> Any: ...


class Warned:
    """Whether a loader has told of global generators, which it does once."""

    def __init__(self) -> None:
        self.told = False


class Generators:
    """The global generators during one run.

    Args:
        seed: of the loader.
        torch: torch's default generator.
        alone: whether user code runs in the consumer's thread.
        first_step: of the run. While its first batch is made the consumer waits, so what moves
            then was moved by user code; later on it may have been the consumer.
        warned: of the loader.
    """

    def __init__(
        self, seed: int, torch: TorchGenerator, alone: bool, first_step: int, warned: Warned
    ) -> None:
        self._seed, self._torch = seed, torch
        self._alone, self._first_step, self._warned = alone, first_step, warned

    @contextmanager
    def lent(self, ticket: Ticket, places: NDArray[np.int64]) -> Iterator[SeedFor]:
        """Gives what seeds them for the sample at place number i of these, inside the `with` block;
        it does nothing where they cannot be owned."""
        if self._alone and threading.current_thread() is threading.main_thread():
            with self._owned(ticket, places) as seed:
                yield seed
        elif ticket.step == self._first_step and not self._warned.told:
            before = self._states()
            yield _nothing
            self._warn(before)
        else:
            yield _nothing

    @contextmanager
    def _owned(self, ticket: Ticket, places: NDArray[np.int64]) -> Iterator[SeedFor]:
        words = draws(globals_key(self._seed, ticket.epoch), ticket.positions[places]).tolist()
        python, numpy, torch = random.getstate(), _NumPy(), self._torch.get_state()

        def seed(i: int) -> None:
            low, high, short, other = words[i]
            random.seed(high << 32 | low)
            np.random.seed(short)
            self._torch.manual_seed(other)

        try:
            numpy.replace()
            yield seed
        finally:
            random.setstate(python)
            numpy.restore()
            self._torch.set_state(torch)

    def _states(self) -> dict[str, bytes]:
        return {
            "random": pickle.dumps(random.getstate()),
            "numpy.random": pickle.dumps(np.random.get_state(legacy=False)),
            "torch": pickle.dumps(self._torch.get_state().numpy()),
        }

    def _warn(self, before: dict[str, bytes]) -> None:
        moved = [name for name, state in self._states().items() if state != before[name]]
        if moved and not self._warned.told:
            self._warned.told = True
            log.warning(
                "map or filter drew from the global generator of %s in a thread, where others "
                "draw from it too: such numbers are not reproducible; draw from "
                "forebay.sample_rng(), or give num_workers=0 and iterate in the main thread",
                " and ".join(moved),
            )


class _NumPy:
    """The global generator of `numpy.random`, which another of its own stands in for."""

    def __init__(self) -> None:
        self._theirs = np.random.get_bit_generator()  # type: ignore[attr-defined]
        # Exchanging it drops a normal number that it has in store, which is part of its state.
        self._state = np.random.get_state(legacy=False)

    def replace(self) -> None:
        # The only kind that can be seeded: the caller's may be another.
        np.random.set_bit_generator(np.random.MT19937(0))  # type: ignore[attr-defined]

    def restore(self) -> None:
        np.random.set_bit_generator(self._theirs)  # type: ignore[attr-defined]
        np.random.set_state(self._state)


def _nothing(_: int) -> None:
    pass
