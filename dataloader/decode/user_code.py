"""User code on samples: a filter, then a map, row by row, with random numbers of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forebay.dataloader.decode.generators import Generators, TorchGenerator
from forebay.dataloader.flow.errors import LoaderClosed
from forebay.dataloader.flow.fault import Fault, fault_at
from forebay.dataloader.flow.sample_rng import OfSample, asked_key
from forebay.dataloader.flow.slot import Slot
from forebay.dataloader.flow.ticket import Ticket
from forebay.telemetry.meter import Meter

Int = NDArray[np.int64]
NAME = 200
"""Characters of a function's name that a cursor holds at most."""
_LEFT_OUT = object()


@dataclass(frozen=True, slots=True)
class UserCode:
    """The functions that a loader was given.

    Args:
        map: makes a sample of another; None: it stays as it is.
        filter: says whether a sample is delivered; None: each is.
        torch: the default generator of torch, from which they may draw.
    """

    map: Callable[[Any], Any] | None
    filter: Callable[[Any], object] | None
    torch: TorchGenerator = field(repr=False)

    def names(self) -> dict[str, str]:
        """Of each function that is there, its module and name."""
        given = {"filter": self.filter, "map": self.map}
        return {role: name_of(code) for role, code in given.items() if code is not None}


def name_of(code: Callable[..., object]) -> str:
    """The module and qualified name of a function, or of the class of another callable."""
    if isinstance(code, functools.partial):
        return f"functools.partial({name_of(code.func)})"[:NAME]
    named = code if hasattr(code, "__qualname__") else type(code)
    return f"{named.__module__}.{named.__qualname__}"[:NAME]


class Views(NamedTuple):
    """What user code gets and gives, as whoever knows tensors sees it.

    Args:
        samples: of the slot, those at these places, in order; they share its memory.
        nbytes: about how many bytes a sample holds.
    """

    samples: Callable[[Slot, Int], Iterable[Any]]
    nbytes: Callable[[Any], int]


class Made(NamedTuple):
    """What user code made of some places.

    Args:
        faults: of samples that it raised for.
        left_out: places that the filter refused.
        nbytes: that the samples of the map hold.
        samples: how many of these.
    """

    faults: list[Fault]
    left_out: set[int]
    nbytes: int
    samples: int


@dataclass(frozen=True, slots=True, eq=False)
class _Raised:
    stage: Literal["filter", "map"]
    error: Exception


class Caller:
    """Calls user code during one run. Safe in several threads, as far as that code is.

    Args:
        seed: of the loader.
        meter: that times it.
    """

    def __init__(
        self, code: UserCode, seed: int, views: Views, generators: Generators, meter: Meter
    ) -> None:
        self._map, self._filter = code.map, code.filter
        self._seed, self._views, self._generators, self._meter = seed, views, generators, meter
        self._stopped = False

    def stop(self) -> None:
        """Calls end with the sample that they are at."""
        self._stopped = True

    def run(self, ticket: Ticket, places: Int, slot: Slot) -> Made:
        """Calls it for the samples at these places of the slot; those that a map makes are written
        there.

        Raises:
            LoaderClosed: `stop` was called meanwhile.
            Exception: MemoryError, and what is no Exception, from user code.
        """
        key = asked_key(self._seed, ticket.epoch)
        positions = ticket.positions[places].tolist()
        made = dict[int, Any]()
        with self._meter.span() as span, self._generators.lent(ticket, places) as seed:
            samples = self._views.samples(slot, places)
            for i, (place, sample) in enumerate(zip(places.tolist(), samples, strict=True)):
                if self._stopped:
                    raise LoaderClosed("the run has ended, and this part of it was left")
                with OfSample(key, positions[i]):
                    seed(i)
                    made[place] = self._called(sample)
            span.items = len(made)
        return self._sorted(made, ticket, slot)

    def _called(self, sample: Any) -> Any:
        """What becomes of a sample.

        A function of its own: the frames of what user code raises would else hold that very error,
        and with it the batch, until the collector comes round.
        """
        stage: Literal["filter", "map"] = "filter"
        try:
            if self._filter is not None and not _kept(self._filter(sample)):
                return _LEFT_OUT
            stage = "map"
            return sample if self._map is None else self._map(sample)
        except MemoryError:
            raise  # It says nothing about the sample.
        except Exception as e:  # noqa: BLE001 - whatever user code raises is the sample's fault
            return _Raised(stage, e)

    def _sorted(self, made: Mapping[int, Any], ticket: Ticket, slot: Slot) -> Made:
        faults: list[Fault] = []
        left_out: set[int] = set()
        nbytes = samples = 0
        for place, value in made.items():
            if isinstance(value, _Raised):
                faults.append(fault_at(ticket, place, value.stage, value.error))
            elif value is _LEFT_OUT:
                left_out.add(place)
            elif slot.samples is not None:
                slot.samples[place] = value
                nbytes += self._views.nbytes(value)
                samples += 1
        return Made(faults, left_out, nbytes, samples)


def _kept(verdict: object) -> bool:
    if verdict is None:
        raise TypeError("filter returned None; let it return True to keep a sample, else False")
    return bool(verdict)
