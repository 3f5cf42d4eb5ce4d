"""The loader: what its users hold. It checks what it is asked for, hands batches out, and knows
where it stands."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn, Protocol

import torch
import torch.distributed
from numpy.typing import ArrayLike

from forebay.dataloader.batch.stage import About
from forebay.dataloader.build import Builder
from forebay.dataloader.config import (
    DEVICES,
    LoaderConfig,
    affinity_of,
    decoders_of,
    errors_of,
    global_batch_of,
    memory_of,
    order_of,
    ranks_of,
    threads_of,
    uneven_of,
    user_code_of,
    weights_of,
    whole,
)
from forebay.dataloader.course import Course
from forebay.dataloader.cursor import (
    CODE,
    MOST_EPOCH,
    Position,
    Stream,
    decode_digest,
    read,
    write,
)
from forebay.dataloader.cursor_mixture import MOST_CHANGED, read_change, write_change
from forebay.dataloader.decode.pad import Pad
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.explain import Explanation
from forebay.dataloader.flow.budget import Budget
from forebay.dataloader.flow.errors import CursorError
from forebay.dataloader.flow.info import BatchInfo
from forebay.dataloader.flow.ranks import Ranks
from forebay.dataloader.iterator import EpochIterator, Ties
from forebay.dataloader.mixture import Mixture
from forebay.dataloader.progress import Progress
from forebay.dataloader.quarantine import Quarantine
from forebay.formats.dataset import ShardDataset
from forebay.telemetry.meter import Board
from forebay.telemetry.stats import LoaderStats

MAY_DIFFER = frozenset(("decode", *CODE))


class Stateful(Protocol):
    """What `attach` takes."""

    def state_dict(self) -> Any:
        """Its state, of what JSON takes."""
        ...

    def load_state_dict(self, state: Any) -> object:
        """Goes on from a state."""
        ...


class DataLoader:
    """Streams a shard dataset as batches of tensors.

    Args:
        dataset: from `forebay.open_dataset`, or several by `forebay.mix`.
        batch_size: samples a batch, of each rank.
        shuffle: False keeps the order at rest. True shuffles all records where single ones can be
            read (RecordIO), else a window of blocks (Parquet). "window", "full" and "blocks" ask by
            name.
        num_workers: threads; None takes all processors available, 0 works in the caller's thread.
        drop_last: whether a short last batch is left out.
        seed: of the order and of every random number; None is 0.
        decode: what to make of fields, such as {"image": forebay.Image(...)} or
            {"ids": forebay.transforms.Pad()}. Without it encoded fields come as lists of bytes, and
            ragged ones as lists of tensors.
        memory: bytes that the loader may hold, such as "1GB" or "512MiB".
        window_bytes: of blocks that the window order mixes at a time, in memory.
        prefetch: batches under way at once, ready ones included; small ones count by groups.
        device: "cpu".
        global_batch_size: samples a batch over all ranks, in place of `batch_size`. Shares differ
            by one at most.
        rank, world_size: of this process among those that share each batch. By default those of
            torch.distributed where its process group is there, else of RANK and WORLD_SIZE in the
            environment, else one alone. Every rank has the same number of batches.
        uneven: what becomes of a last batch that is short: "pad" (the default without `drop_last`)
            lets the epoch's first samples come again until all ranks have equally many, "wrap"
            until it is full; "drop" (the default with `drop_last`) leaves it out. Samples that come
            again stand last, and `batch_info.n` does not count them.
        affinity: whether the window order deals each rank the same blocks in every epoch, so that
            what it has cached serves again; rows are shuffled as ever. Ranks whose number divides
            the lanes (48, or the divisor of it that fits) keep their blocks to themselves.
        weights: in place of `shuffle`, one number a record: samples are drawn in proportion to
            them, out of all records. Where blocks do not fit in memory and single records cannot be
            read, this reads a block for almost every sample; see `explain()`.
        num_samples: drawn in an epoch; by default as many as there are records with a weight.
        replacement: whether a record may be drawn again before all others have been.

        map: a function of one sample: a tuple of the dataset's columns in the order they were asked
            for, or a dict when none were asked for, with what `decode` makes of fields. What it
            returns, of any structure, is collated with the others: see `docs/user_code.md`.
        filter: a function of one sample, before `map`. Where it returns false the sample is left
            out and its batch is shorter; no other sample moves. Without `map` batches are as ever.
        on_error: what to do about a sample that cannot be delivered, since its bytes are damaged or
            cannot be decoded, or `map` or `filter` raised an exception. "raise" raises SampleError
            at its batch. "skip" leaves it out of the batch. "replace" lets another record stand in
            at its position: the first good one of its block in an order that depends on the seed,
            epoch and position alone, or of the blocks behind it. `batch_info.faults` tells of both.
        max_errors: how many such samples one pass over an epoch may have, a number, or as a float
            a share of the rank's samples; more raise TooManyFaults. By default 1 %, at least 10.
        quarantine: a file to which each such sample is appended as a line of JSON: position, shard,
            record, stage, cause and what was done. Without it the log tells.

    A batch is a list of the dataset's columns in the order they were asked for, or a dict when
    none were asked for. Fields of one shape become tensors (N, ...), which share no memory with
    the loader; others become lists of N values.

    Raises:
        TypeError, ValueError: an argument is wrong; says which, and what to write.
    """

    def __init__(  # noqa: PLR0913 - mirrors torch's DataLoader, design 3
        self,
        dataset: ShardDataset | Mixture,
        batch_size: int = 1,
        shuffle: bool | str | None = None,
        *,
        num_workers: int | None = None,
        drop_last: bool = False,
        seed: int | None = None,
        decode: Mapping[str, Image | Pad] | None = None,
        memory: int | str = "1GB",
        window_bytes: int | str = "64MB",
        prefetch: int = 4,
        device: str = "cpu",
        global_batch_size: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        uneven: str | None = None,
        affinity: bool = False,
        weights: ArrayLike | None = None,
        num_samples: int | None = None,
        replacement: bool = True,
        map: Callable[[Any], Any] | None = None,
        filter: Callable[[Any], object] | None = None,
        on_error: str = "raise",
        max_errors: int | float | None = None,
        quarantine: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(dataset, ShardDataset | Mixture):
            raise TypeError(
                "DataLoader takes a dataset from forebay.open_dataset or forebay.mix, "
                f"got {type(dataset).__name__}; pack other data with `forebay pack` first"
            )
        if device not in DEVICES:
            raise ValueError(f"device must be one of {DEVICES}, got {device!r}")
        ranks = ranks_of(rank, world_size, _group(), os.environ)
        if weights is not None and isinstance(dataset, Mixture):
            raise ValueError(
                "weights= draw from one dataset; those of a mixture are given to mix()"
            )
        weighting = weights_of(weights, num_samples, replacement, shuffle, len(dataset))
        order = "weighted" if weighting else order_of(shuffle, dataset)
        images, pads = decoders_of(decode, dataset.schema)
        user = user_code_of(map, filter, pads, torch.default_generator)
        self.dataset = dataset
        self.config = LoaderConfig(
            global_batch=global_batch_of(batch_size, global_batch_size, ranks),
            ranks=ranks,
            order=order,
            seed=whole("seed", 0 if seed is None else seed, 0, 2**64 - 1),
            uneven=uneven_of(uneven, drop_last),
            threads=threads_of(num_workers),
            memory=memory_of("memory", memory),
            window_bytes=memory_of("window_bytes", window_bytes),
            affinity=affinity_of(affinity, order),
            weights=weighting,
            prefetch=whole("prefetch", prefetch, 1),
            device=device,
            errors=errors_of(
                on_error,
                max_errors,
                quarantine,
                -(-(weighting.samples if weighting else len(dataset)) // ranks.size),
            ),
            user=user,
        )
        board, budget = Board(), Budget(self.config.memory)
        self._progress = Progress(board, budget, self.config.threads)
        self._builder = Builder(dataset, self.config, images, pads, board, budget)
        self._stream = Stream(
            dataset.stored_fingerprint,
            dataset.generation,
            self._builder.plan.total,
            self._builder.plan.described(),
            self.config.seed,
            decode_digest(dataset.columns, {**images, **pads}),
            user.names() if user else {},
        )
        steps, total = self._builder.policy.steps, self._builder.plan.total
        self._course = Course(lambda sample: not steps(total - sample))
        self._attached: dict[str, Stateful] = {}
        self._about: tuple[About, int] | None = None
        self._quarantine = Quarantine(self.config.errors, self._builder.where, ranks.rank)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return self._builder.policy.steps(self._builder.plan.total)

    def __iter__(self) -> Iterator[Any]:
        """The batches of the next epoch, from the first on; or from where `load_state_dict` or
        `seek` set the position."""
        return EpochIterator(
            Ties(
                self._course,
                self._progress,
                self._builder.run,
                self._deliver,
                self._quarantine.begin,
            )
        )

    @property
    def epoch(self) -> int:
        """The epoch that the next `iter()` begins, or goes on with."""
        return self._course.next.epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch that the next `iter()` begins; otherwise they count up from 0.

        A position in the midst of that very epoch stays, so that a loop over epochs that calls this
        goes on from a cursor.

        Raises:
            TypeError, ValueError: it is no epoch, or one before `set_weights`.
        """
        whole("epoch", epoch, 0, MOST_EPOCH)
        if epoch != self.epoch:
            self._check_known(Position(epoch, 0, 0))
        self._course.set_epoch(epoch)

    @property
    def position(self) -> Position:
        """Where the loader stands: behind the batch last delivered. An epoch that is over is the
        next one's beginning."""
        return self._course.at

    def seek(self, epoch: int, step: int = 0) -> None:
        """Goes to a batch of an epoch: what comes next from `iter()`, and from an iterator that is
        there.

        Raises:
            TypeError, ValueError: there is no such batch, or it lies before `set_weights`.
        """
        whole("epoch", epoch, 0, MOST_EPOCH)
        whole("step", step, 0, len(self))
        sample = min(step * self.config.global_batch, self._builder.plan.total)
        at = Position(epoch, step, sample)
        self._check_known(at)
        self._course.go(at)

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Other weights of a mixture's datasets, from behind the batch last delivered on.

        Every rank calls it at the same step. An epoch stays as long as it is, and each dataset goes
        on behind what has come of it. State that is taken from now on tells the weights, and brings
        them to the loader that goes on from it.

        Args:
            weights: of all datasets, as `mix` takes them; 0 leaves one out until they are set
                again.

        Raises:
            TypeError, ValueError: they are no weights, the dataset is no mixture or one of too many
                datasets for a cursor, or memory is too little. Nothing has changed then.
        """
        mixture, plan = self.dataset, self._builder.plan.mixture
        if not isinstance(mixture, Mixture) or plan is None:
            raise ValueError("set_weights: the loader's dataset is no mixture; see forebay.mix")
        if len(plan.components) > MOST_CHANGED:
            raise ValueError(
                f"set_weights: a cursor has room for the counts of {MOST_CHANGED} datasets, this "
                f"mixture has {len(plan.components)}; mix fewer, or make another loader"
            )
        at, quota = self.position, mixture.quota(weights)
        self._check_known(at)
        self._builder.deal(
            plan.changed(
                self.config.seed,
                (at.epoch, at.sample),
                quota,
                shuffled=self.config.order != "sequential",
            )
        )
        self._course.renew()

    def state_dict(self) -> dict[str, Any]:
        """The cursor: where the loader stands, of what JSON takes, below 4 kB.

        Every rank's is the same at the same step but for what is attached, and any of them restores
        all, on any number of ranks and threads and with any batch size.

        Raises:
            ValueError: a pass goes on from before an epoch that `set_epoch` chose and for which
                `set_weights` was called then.
        """
        self._check_known(self.position)
        batch = {"size": self.config.global_batch, "uneven": self.config.uneven}
        state = write(self._stream, batch, self.position)
        state |= write_change(self._builder.plan.mixture)
        if self._attached:
            state["attached"] = {n: s.state_dict() for n, s in self._attached.items()}
        return state

    def load_state_dict(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None:
        """Goes on from a cursor: `iter()` does, and an iterator that is there does with its next
        batch. What was attached gets its part.

        Args:
            allow: fields that may differ from this loader's: "decode", "map", "filter".

        Raises:
            CursorError: it is damaged, or of another dataset, order or seed; names the field.
                Nothing has changed then.
            ValueError: the memory is too little for the weights that it tells.
        """
        if unknown := set(allow) - MAY_DIFFER:
            raise ValueError(f"allow may name {sorted(MAY_DIFFER)}, got {sorted(unknown)}")
        at = read(state, self._stream, frozenset(allow))
        parts = state.get("attached", {})
        if not isinstance(parts, Mapping) or set(parts) != set(self._attached):
            raise CursorError(
                f"attached: the cursor has {sorted(parts)}, this loader {sorted(self._attached)}; "
                "attach the same before it is loaded"
            )
        mixture = self._builder.plan.mixture
        change = read_change(state, mixture, at)
        if mixture is not None:
            self._builder.deal(replace(mixture, change=change))
        for name, part in parts.items():
            self._attached[name].load_state_dict(part)
        self._course.go(at)

    def attach(self, name: str, stateful: Stateful) -> None:
        """Carries another object's state in this rank's cursor: `state_dict()` asks for it, and
        `load_state_dict` gives it back.

        Raises:
            TypeError: it has not both methods.
            ValueError: the name is taken.
        """
        if not all(callable(getattr(stateful, m, None)) for m in ("state_dict", "load_state_dict")):
            raise TypeError(
                f"attach({name!r}): needs state_dict() and load_state_dict(), got {stateful!r:.100}"
            )
        if name in self._attached:
            raise ValueError(f"attach({name!r}): the name is taken")
        self._attached[name] = stateful

    @property
    def batch_info(self) -> BatchInfo:
        """About the batch last delivered.

        Raises:
            ValueError: none has been delivered yet.
        """
        if self._about is None:
            raise ValueError("batch_info: no batch has been delivered yet")
        about, part = self._about
        return about.info(part)

    def stats(self) -> LoaderStats:
        """What the loader has done since it was made."""
        return self._progress.stats()

    def explain(self) -> Explanation:
        """What the loader will do and why: its order, what that is worth and what it costs to read,
        batches, ranks, memory and decoders. Print it, or take `to_dict()`."""
        return self._builder.explain()

    def _check_known(self, at: Position) -> None:
        plan = self._builder.plan.mixture
        if plan is not None and plan.change is not None and not plan.knows(at.epoch, at.sample):
            raise ValueError(
                f"epoch {at.epoch}, sample {at.sample} lies before epoch {plan.change.epoch}, "
                f"sample {plan.change.position}, where set_weights was called: what came before is "
                "not known any more; load a state from then"
            )

    def _deliver(self, about: About, part: int) -> None:
        if about.ticket.parts[part].faults:
            self._quarantine.note(about.info(part))
        self._about = (about, part)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a DataLoader is not picklable: it holds memory and threads of this process; send its "
            "dataset, which is, and make a loader from it over there"
        )

    def __repr__(self) -> str:
        return f"DataLoader({self.dataset!r}, {self.config!r})"


def _group() -> Ranks | None:
    """The ranks of torch.distributed's default group, where there is one."""
    dist = torch.distributed
    if not dist.is_available() or not dist.is_initialized():
        return None
    return Ranks(dist.get_rank(), dist.get_world_size())
