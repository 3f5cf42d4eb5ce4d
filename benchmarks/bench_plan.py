"""The plan: tickets of 256 samples, a second of one core, in every order and size of dataset.

The cost of a ticket must not grow with the dataset. The first ticket of an epoch, from its middle
on too, arranges all blocks: 10^10 samples lie in a million of them.
"""

import itertools

import numpy as np
import pytest

from forebay.dataloader.batch.fixed import Fixed
from forebay.dataloader.plan.epoch import EpochPlan, PlanSettings
from forebay.dataloader.plan.window import window_shape

BATCH = 256
ROWS = 3_000
"""Records a block: 1 MiB of small ones."""
TICKETS = 200


def settings_of(samples, order):
    rows = max(ROWS, samples // 10**6)
    blocks = -(-samples // rows)
    first = np.minimum(np.arange(blocks + 1) * rows, samples)
    return PlanSettings(first, order, 0, window_shape(np.full(blocks, 1 << 20)))


@pytest.mark.parametrize("samples", [10**5, 10**7, 10**10])
@pytest.mark.parametrize("order", ["sequential", "blocks", "window", "full"])
def bench_tickets(benchmark, order, samples):
    policy = Fixed(BATCH, "drop")
    settings = settings_of(samples, order)

    def some():
        tickets = EpochPlan(settings, policy, 0).tickets()
        next(tickets)  # tables of the epoch are made with its first ticket
        return (tickets,), {}

    def take(tickets):
        return sum(1 for _ in itertools.islice(tickets, TICKETS))

    taken = benchmark.pedantic(take, setup=some, rounds=15)
    assert taken == TICKETS
    benchmark.extra_info["M samples/s"] = TICKETS * BATCH / benchmark.stats.stats.median / 1e6


@pytest.mark.parametrize("begins", ["start", "middle"])
@pytest.mark.parametrize("samples", [10**5, 10**7, 10**10])
@pytest.mark.parametrize("order", ["window", "full"])
def bench_first_ticket(benchmark, order, samples, begins):
    settings = settings_of(samples, order)
    position = samples // 2 if begins == "middle" else 0
    policy = Fixed(BATCH, "drop")
    epochs = itertools.count()
    benchmark(lambda: next(EpochPlan(settings, policy, next(epochs)).tickets(position)))
