"""What a loader was asked for: checked at the door, then frozen."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forebay.dataloader.batch.fixed import Uneven
from forebay.dataloader.decode.generators import TorchGenerator
from forebay.dataloader.decode.pad import Pad
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.decode.user_code import UserCode
from forebay.dataloader.flow.ranks import Ranks
from forebay.dataloader.flow.threads import available_cpus
from forebay.dataloader.plan.order import OrderName
from forebay.dataloader.plan.weighted import Weights
from forebay.dataloader.quarantine import ErrorPolicy
from forebay.formats.record import Schema
from forebay.formats.size import parse_size
from forebay.formats.streamed import Streamed

SHUFFLES = ("window", "full", "blocks")
DEVICES = ("cpu",)
ON_ERROR = ("raise", "skip", "replace")
ERROR_SHARE, LEAST_ERRORS = 0.01, 10
"""Without `max_errors` so large a part of a rank's samples may be faulty; so many in any case."""
UNEVEN = ("pad", "wrap", "drop")


@dataclass(frozen=True, slots=True)
class LoaderConfig:
    """A loader's description: plain data, without threads or memory.

    Args:
        global_batch: samples a batch over all ranks.
        ranks: this process among those that share each batch.
        order: of samples; see `dataloader.plan`.
        uneven: what becomes of a last batch that is short.
        threads: that work; 0 does all work in the consumer.
        memory: bytes that the loader may hold.
        window_bytes: of the window order.
        affinity: whether lanes of the window order keep their blocks from epoch to epoch.
        weights: of the weighted order; None in the others.
        prefetch: batches under way at once, ready ones included.
        errors: what is done about samples that cannot be delivered.
        user: code that sees or makes the samples; None where there is none.
    """

    global_batch: int
    ranks: Ranks
    order: OrderName
    seed: int
    uneven: Uneven
    threads: int
    memory: int
    window_bytes: int
    affinity: bool
    weights: Weights | None
    prefetch: int
    device: str
    errors: ErrorPolicy
    user: UserCode | None = None

    @property
    def batch_size(self) -> int:
        """Samples of the rank's own share of a batch, at most."""
        return -(-self.global_batch // self.ranks.size)


def order_of(shuffle: object, dataset: Streamed) -> OrderName:
    """The order that `shuffle=` asks for.

    Raises:
        TypeError: not a bool or a string.
        ValueError: not one of the names.
    """
    if shuffle is None or shuffle is False:
        return "sequential"
    if shuffle is True:
        return "full" if dataset.record_readable else "window"
    match shuffle:
        case "window" | "full" | "blocks":
            return shuffle
    if isinstance(shuffle, str):
        raise ValueError(f"shuffle must be a bool or one of {SHUFFLES}, got {shuffle!r}")
    raise TypeError(f"shuffle must be a bool or one of {SHUFFLES}, got {type(shuffle).__name__}")


def weights_of(
    weights: object, num_samples: object, replacement: object, shuffle: object, records: int
) -> Weights | None:
    """The weighted order that is asked for, if any.

    Raises:
        TypeError: weights that are no numbers, or num_samples that is no int.
        ValueError: as many weights as records are needed, finite and none negative; and without
            replacement no more samples than records with a weight.
    """
    if weights is None:
        if num_samples is not None or replacement is not True:
            raise ValueError("num_samples and replacement go with weights=; give these too")
        return None
    if shuffle:
        raise ValueError(f"weights= are an order of their own: leave out shuffle={shuffle!r}")
    try:
        found = np.array(weights, np.float64)
    except (TypeError, ValueError) as e:
        raise TypeError(f"weights must be numbers, one a record: {e}") from e
    if found.shape != (records,):
        raise ValueError(
            f"weights must be one number for each of {records} records, got shape {found.shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(found) | (found < 0))
    if len(wrong):
        raise ValueError(
            f"weights must be finite and not negative; weight {wrong[0]} is {found[wrong[0]]}"
        )
    positive = int(np.count_nonzero(found))
    if not positive:
        raise ValueError("weights must not all be zero: there is nothing to draw")
    samples = whole("num_samples", positive if num_samples is None else num_samples, 0)
    if not replacement and samples > positive:
        raise ValueError(
            f"num_samples must be at most {positive}, the records with a weight, without "
            f"replacement; got {samples}"
        )
    found.flags.writeable = False
    return Weights(found, samples, bool(replacement))


def errors_of(
    on_error: object, max_errors: object, quarantine: object, samples: int
) -> ErrorPolicy:
    """What is done about samples that cannot be delivered.

    Args:
        samples: of an epoch, of this rank.

    Raises:
        TypeError, ValueError: an argument is wrong, or the file cannot be written.
    """
    match on_error:
        case "raise":
            if max_errors is not None or quarantine is not None:
                raise ValueError(
                    'max_errors and quarantine go with on_error="skip" or "replace"; the default '
                    '"raise" ends at the first fault'
                )
        case "skip" | "replace":
            pass
        case _:
            raise ValueError(f"on_error must be one of {ON_ERROR}, got {on_error!r}")
    if isinstance(max_errors, float):
        if not 0 <= max_errors <= 1:
            raise ValueError(f"max_errors as a share must be from 0.0 to 1.0, got {max_errors}")
        most = math.ceil(max_errors * samples)
    elif max_errors is None:
        most = max(LEAST_ERRORS, math.ceil(ERROR_SHARE * samples))
    else:
        most = whole("max_errors", max_errors, 0)
    if quarantine is None:
        return ErrorPolicy(on_error, most, None)
    if not isinstance(quarantine, str | os.PathLike):
        raise TypeError(f"quarantine must be a path, got {type(quarantine).__name__}")
    file = os.path.abspath(os.fspath(quarantine))
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644))
    except OSError as e:
        raise ValueError(f"quarantine: {file} cannot be written: {e.strerror}") from e
    return ErrorPolicy(on_error, most, file)


def user_code_of(
    map: object, filter: object, pads: Mapping[str, Pad], torch: TorchGenerator
) -> UserCode | None:
    """The code that `map=` and `filter=` give.

    Raises:
        TypeError: one of them cannot be called.
        ValueError: a map together with paddings.
    """
    for name, code in (("map", map), ("filter", filter)):
        if code is not None and not callable(code):
            raise TypeError(
                f"{name} must be a function of one sample, got {code!r:.100} of type "
                f"{type(code).__name__}"
            )
    if map is not None and pads:
        raise ValueError(
            f"decode[{next(iter(pads))!r}]: Pad makes a batch of all its samples at once, but map "
            "makes each by itself, before there is a batch; leave Pad out and let map return "
            "tensors of one length"
        )
    if map is None and filter is None:
        return None
    return UserCode(map, filter, torch)  # type: ignore[arg-type]


def affinity_of(affinity: object, order: OrderName) -> bool:
    """Whether lanes keep their blocks.

    Raises:
        ValueError: asked for in an order without lanes.
    """
    if affinity and order != "window":
        raise ValueError(
            "affinity=True keeps the blocks of a window order in their lanes: "
            f'give shuffle="window", got order {order!r}'
        )
    return bool(affinity)


def whole(name: str, value: object, least: int, most: int | None = None) -> int:
    """An int argument in its range.

    Raises:
        TypeError: not an int.
        ValueError: out of range.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, got {value!r} of type {type(value).__name__}")
    if value < least or (most is not None and value > most):
        bound = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be an int {bound}, got {value}")
    return value


def ranks_of(
    rank: object, world_size: object, group: Ranks | None, environment: Mapping[str, str]
) -> Ranks:
    """The ranks that arguments name, else the process group, else RANK and WORLD_SIZE, else one.

    Args:
        group: of torch.distributed, where one is there.

    Raises:
        TypeError, ValueError: one of the two is missing, no int, or out of range.
    """
    if rank is not None or world_size is not None:
        if rank is None or world_size is None:
            raise ValueError(
                f"give both rank and world_size, or neither; got {rank!r} and {world_size!r}"
            )
        return Ranks(whole("rank", rank, 0), whole("world_size", world_size, 1))
    if group is not None:
        return group
    found = {name: environment[name] for name in ("RANK", "WORLD_SIZE") if name in environment}
    # Some clusters set one of them for purposes of their own.
    if len(found) < 2:
        return Ranks()
    if not all(text.isascii() and text.isdigit() for text in found.values()):
        raise ValueError(
            f"RANK and WORLD_SIZE must be whole numbers, the environment has {found}; "
            "mend it, or give rank= and world_size="
        )
    return Ranks(int(found["RANK"]), int(found["WORLD_SIZE"]))


def global_batch_of(batch_size: object, global_batch_size: object, ranks: Ranks) -> int:
    """Samples a batch over all ranks.

    Raises:
        TypeError, ValueError: both are given, or what is given is no int of at least 1, or leaves a
            rank without samples.
    """
    if global_batch_size is None:
        return whole("batch_size", batch_size, 1) * ranks.size
    if batch_size != 1:
        raise ValueError(
            f"give batch_size (a rank) or global_batch_size (of all ranks), not both; "
            f"got {batch_size!r} and {global_batch_size!r}"
        )
    return whole("global_batch_size", global_batch_size, ranks.size)


def uneven_of(uneven: object, drop_last: object) -> Uneven:
    """What becomes of a last batch that is short; "drop" or "pad" by `drop_last` when not said.

    Raises:
        ValueError: not one of the names, or against `drop_last`.
    """
    if uneven is None:
        return "drop" if drop_last else "pad"
    match uneven:
        case "pad" | "wrap" if drop_last:
            raise ValueError(
                f"drop_last=True leaves the last batch out; uneven={uneven!r} does not"
            )
        case "pad" | "wrap" | "drop":
            return uneven
    raise ValueError(f"uneven must be one of {UNEVEN}, got {uneven!r}")


def threads_of(num_workers: object) -> int:
    """The number of threads that `num_workers=` asks for; all available processors for None."""
    return available_cpus() if num_workers is None else whole("num_workers", num_workers, 0)


def memory_of(name: str, value: object) -> int:
    """Bytes that `memory="4GB"` and its like ask for.

    Raises:
        TypeError, ValueError: not a size, or not above 0.
    """
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int of bytes or a string such as '1GB', got {value!r}")
    return parse_size(value, name)


def decoders_of(
    decode: Mapping[str, Any] | None, schema: Schema
) -> tuple[dict[str, Image], dict[str, Pad]]:
    """The image decoders and the paddings that `decode=` asks for, each fitting its field.

    Raises:
        TypeError: not a dict, or a value that is no decoder.
        ValueError: a field that is not there (SchemaError), holds no images or is not ragged.
    """
    images: dict[str, Image] = {}
    pads: dict[str, Pad] = {}
    if decode is None:
        return images, pads
    if not isinstance(decode, Mapping):
        raise TypeError(f"decode must be a dict of field: decoder, got {type(decode).__name__}")
    for name, spec in decode.items():
        field = schema[name]
        if isinstance(spec, Image):
            if field.kind not in ("image", "bytes"):
                raise ValueError(
                    f"decode[{name!r}]: an Image decodes image or bytes fields, "
                    f"but {name!r} is {field.spec!r}"
                )
            images[name] = spec
        elif isinstance(spec, Pad):
            if field.kind != "ragged":
                raise ValueError(
                    f"decode[{name!r}]: Pad is for ragged fields such as 'int32[*]', "
                    f"but {name!r} is {field.spec!r}"
                )
            spec.filler(field.dtype)
            pads[name] = spec
        else:
            raise TypeError(
                f"decode[{name!r}] must be a forebay.Image or forebay.transforms.Pad, got {spec!r}"
            )
    return images, pads
