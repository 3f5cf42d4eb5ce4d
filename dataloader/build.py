"""Builds runs: stages, line and runner of one epoch, out of what a loader was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from forebay.dataloader.batch.collating import CollatingStage
from forebay.dataloader.batch.fixed import Fixed
from forebay.dataloader.batch.samples import Samples, sample_bytes
from forebay.dataloader.batch.stage import BatchStage, Shared
from forebay.dataloader.config import LoaderConfig
from forebay.dataloader.cursor import Position
from forebay.dataloader.decode.generators import Generators, Warned
from forebay.dataloader.decode.pad import Pad
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.decode.stage import DecodeStage, UserPart
from forebay.dataloader.decode.user_code import Caller, Views
from forebay.dataloader.device.cpu import CpuDevice
from forebay.dataloader.device.pool import SlotPool
from forebay.dataloader.explain import Explanation, Part
from forebay.dataloader.fetch.stage import FetchStage
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.kept import Kept
from forebay.dataloader.flow.learned import Learned
from forebay.dataloader.flow.line import Line, LineSettings
from forebay.dataloader.flow.mend import Mender
from forebay.dataloader.flow.runner import Runner, Stages
from forebay.dataloader.flow.stage import Batch
from forebay.dataloader.flow.ticket import Cutting
from forebay.dataloader.least_memory import (
    Costs,
    check_memory,
    index_bytes,
    least_memory,
    list_bytes,
    together,
)
from forebay.dataloader.mixture import Mixture
from forebay.dataloader.ordering import plan_settings
from forebay.dataloader.plan.epoch import EpochPlan, PlanSettings
from forebay.dataloader.plan.mixture import MixturePlan
from forebay.dataloader.plan.quality import read_factor, shuffle_quality
from forebay.dataloader.plan.shares import Shares
from forebay.dataloader.plan.substitutes import Substitutes
from forebay.dataloader.plan.window import WindowShape
from forebay.formats.column import Block
from forebay.formats.streamed import Streamed
from forebay.kernels import jpeg_sample
from forebay.telemetry.meter import Board


class Builder:
    """What all runs of a loader share, and what each is built of.

    Args:
        images: image decoders, by field.
        pads: paddings, by field.

    Raises:
        ValueError: the memory is too little for the order; names the least value.
    """

    def __init__(
        self,
        dataset: Streamed,
        config: LoaderConfig,
        images: Mapping[str, Image],
        pads: Mapping[str, Pad],
        board: Board,
        budget: Budget,
    ) -> None:
        self._dataset, self._config = dataset, config
        self._images, self._pads = images, pads
        self._board, self._budget = board, budget
        self._pool = SlotPool(budget)
        self.policy = Fixed(config.global_batch, config.uneven)
        costs = Costs.of(dataset)
        fields = BatchStage(
            dataset.schema,
            images,
            pads,
            as_dict=dataset.columns is None,
            list_bytes=list_bytes(dataset, costs, images),
            shared=Shared(
                config.ranks.size, dataset.bounds if isinstance(dataset, Mixture) else None
            ),
            kept=config.user is not None,
        )
        # A batch is never larger than the epoch.
        samples = config.weights.samples if config.weights else len(dataset)
        batch_bytes = fields.declare().nbytes(min(config.batch_size, samples))
        self._costs, self._batch_bytes = costs, batch_bytes
        fits = self._fits()
        self._kept = Kept(budget, _undamaged) if fits else None
        self._indexes = index_bytes(dataset, config.memory)
        spare = self._settle(plan_settings(dataset, config, fits))
        # Until it is known better, samples of a map are taken to be so large that two batches of
        # them, twice each while they are collated, fill what memory is left.
        self._learned = Learned(spare // (4 * config.batch_size))
        self._warned = Warned()
        self._batch: Batch = fields
        if config.user is not None and config.user.map is not None:
            self._batch = CollatingStage(fields, self._learned)
        budget.charge("indexes", self._indexes)

    def deal(self, mixture: MixturePlan) -> None:
        """Later runs have other shares of a mixture.

        Raises:
            ValueError: the memory is too little for them; nothing has changed then.
        """
        self._settle(replace(self.plan, mixture=mixture))

    def _settle(self, plan: PlanSettings) -> int:
        """Takes a plan, if the memory is enough for it. Returns the bytes that are left."""
        config, costs, batch_bytes = self._config, self._costs, self._batch_bytes
        spare = check_memory(config, plan, self._dataset, costs, batch_bytes)
        # Decoding, and user code too, takes so long that a batch is enough for a ticket.
        self._together = 1
        if not self._images and config.user is None:
            self._together = together(config, plan, self._dataset, costs, batch_bytes)
        flights = config.prefetch * self._together * batch_bytes
        fits = self._kept is not None
        self._room = None if fits else max(0, config.memory - self._indexes - flights)
        self.plan = plan
        return spare

    def run(self, at: Position) -> Runner:
        """A run of the rest of an epoch; its threads do not work yet."""
        config = self._config
        plan = EpochPlan(self.plan, self.policy, at.epoch, config.ranks, self._together)
        lease = self._budget.lease()
        stages = Stages(
            fetch=FetchStage(self._dataset, self._board),
            decode=DecodeStage(
                self._dataset.schema,
                self._images,
                self._pads,
                config.seed,
                lease,
                self._user_part(at.step),
            ),
            batch=self._batch,
            device=CpuDevice(self._pool),
        )
        cutting = Cutting(
            config.threads,
            decodes=bool(self._images) or config.user is not None,
            gathers=(
                bool(self._pads)
                if config.user is not None
                else len(self._images) < len(self._dataset.schema)
            ),
        )
        line = Line(
            plan.tickets(at.sample, at.step),
            self._batch.declare,
            lease,
            stages.fetch,
            stages.device,
            LineSettings(
                cutting, config.prefetch, evict_early=plan.keep_for_later, kept=self._kept
            ),
        )
        mender = self._mender(stages, cutting, lease)
        return Runner(line, stages, config.threads, self._board, self.where, lease, mender)

    def explain(self) -> Explanation:
        """What runs will do, and why."""
        config, plan, dataset = self._config, self.plan, self._dataset
        memory = (dataset.blocks.memory * self._costs.share).astype(np.int64)
        batch = config.global_batch
        shape = plan.shape if plan.order == "window" else WindowShape(0, 0)
        native = "native" if jpeg_sample.available() else "pillow"
        return Explanation(
            order=plan.order,
            lanes=shape.lanes,
            window_blocks=shape.blocks,
            affinity=shape.sticky,
            samples=plan.total,
            filtered=dataset.filtered,
            stored=dataset.stored,
            components=_components(plan),
            batches=self.policy.steps(plan.total),
            global_batch=batch,
            uneven=config.uneven,
            rank=config.ranks.rank,
            world_size=config.ranks.size,
            shuffle_quality=shuffle_quality(plan, batch),
            read_factor=read_factor(plan, memory, batch * self._together, config.ranks, self._room),
            by_record=plan.by_record,
            keeps_blocks=self._kept is not None,
            memory=config.memory,
            threads=config.threads,
            decoders=dict.fromkeys(self._images, native) | dict.fromkeys(self._pads, "pad"),
            user_code={} if config.user is None else config.user.names(),
        )

    def trim(self, nbytes: int) -> None:
        """Gives back about so many bytes that are kept for later runs."""
        freed = self._pool.trim(nbytes)
        if self._kept is not None:
            self._kept.trim(nbytes - freed)

    def _user_part(self, step: int) -> UserPart | None:
        config, schema = self._config, self._dataset.schema
        if config.user is None:
            return None
        views = Views(
            Samples(schema, self._images, as_dict=self._dataset.columns is None), sample_bytes
        )
        generators = Generators(
            config.seed, config.user.torch, config.threads == 0, step, self._warned
        )
        caller = Caller(config.user, config.seed, views, generators, self._board["user code"])
        return UserPart(caller, self._learned)

    def _mender(self, stages: Stages, cutting: Cutting, lease: Budget) -> Mender | None:
        on_error, most = self._config.errors.on_error, self._config.errors.most
        if on_error == "raise":
            return None
        substitutes = Substitutes(self.plan) if on_error == "replace" else None
        return Mender(stages.fetch, stages.decode, cutting, lease, substitutes, most)

    def _fits(self) -> bool:
        """Whether all blocks fit in memory beside the work, so that they can stay."""
        config, held = self._config, int(self._dataset.blocks.memory.sum() * self._costs.share)
        batches = max(2, config.prefetch)
        least = least_memory(self._dataset, self._costs, held, self._batch_bytes, batches)
        return config.memory >= least

    def where(self, block: int, row: int) -> tuple[str, int]:
        """(shard, record of it) of a (block, row of it)."""
        shard, inside = self._dataset.shard_of(block)
        return shard.file, int(np.sum(shard.block_rows[:inside])) + row


def _undamaged(block: Block) -> bool:
    return not block.damaged


def _components(plan: PlanSettings) -> dict[str, Part]:
    if plan.mixture is None:
        return {}
    shares = Shares(plan.mixture.quota, plan.total)
    counts = zip(plan.mixture.components, shares.in_epoch().tolist(), strict=True)
    return {c.name: Part(n / max(1, shares.total), n / c.samples) for c, n in counts}
