"""The plan's settings, out of what a loader was asked for and of its dataset."""

from __future__ import annotations

import hashlib

import numpy as np

from forebay.dataloader.config import LoaderConfig
from forebay.dataloader.mixture import Mixture
from forebay.dataloader.plan.epoch import PlanSettings
from forebay.dataloader.plan.mixture import PURPOSE_MIXTURE, Component, MixturePlan
from forebay.dataloader.plan.window import WindowShape, window_shape
from forebay.formats.streamed import Streamed
from forebay.kernels.philox import derive_key

LONG_FILTER = 200
"""Characters of a filter that a cursor has; of a longer one it has a digest too."""


def plan_settings(dataset: Streamed, config: LoaderConfig, fits: bool) -> PlanSettings:
    """What the order is a function of.

    Args:
        fits: whether all blocks can stay in memory.
    """
    if isinstance(dataset, Mixture):
        return _of_mixture(dataset, config)
    blocks = dataset.blocks
    return PlanSettings(
        first_row=blocks.first_row,
        order=config.order,
        seed=config.seed,
        shape=window_shape(blocks.memory, config.window_bytes, config.affinity),
        # Blocks that fit are better kept: each is then read once, whatever the order.
        by_record=config.order in ("full", "weighted") and dataset.record_readable and not fits,
        weights=config.weights,
        kept=blocks.kept,
        filtered=_told(dataset.filtered),
    )


def _of_mixture(mixture: Mixture, config: LoaderConfig) -> PlanSettings:
    """Each dataset has a window in proportion to its share at first, if it has one, and an order
    with a seed of its own: two of one size would else come in one order."""
    quota = np.maximum(mixture.shares.quota, 1)
    components = []
    for c, (name, part) in enumerate(mixture.datasets.items()):
        window = int(config.window_bytes * int(quota[c]) / int(quota.sum()))
        settings = PlanSettings(
            first_row=part.blocks.first_row,
            order=config.order,
            seed=derive_key(config.seed, PURPOSE_MIXTURE, c)[0],
            shape=window_shape(part.blocks.memory, window, config.affinity),
            kept=part.blocks.kept,
            filtered=_told(part.filtered),
        )
        first, told = int(mixture.bounds[c]), settings.described()
        components.append(
            Component(name, len(part), len(part.blocks), first, settings.order_of, told)
        )
    return PlanSettings(
        first_row=mixture.blocks.first_row,
        order=config.order,
        seed=config.seed,
        shape=WindowShape(1, 1),
        kept=mixture.blocks.kept,
        mixture=MixturePlan(tuple(components), mixture.shares),
    )


def _told(text: str | None) -> str:
    """A filter as a cursor tells it."""
    if text is None or len(text) <= LONG_FILTER:
        return text or ""
    return f"{text[:LONG_FILTER]}... sha256:{hashlib.sha256(text.encode()).hexdigest()[:32]}"
