"""What a loader was asked for: checked at the door, then frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay.dataloader.decode.pad import Pad
from forebay.dataloader.decode.spec import Image
from forebay.dataloader.flow.threads import available_cpus
from forebay.dataloader.plan.order import OrderName
from forebay.formats.dataset import ShardDataset
from forebay.formats.record import Schema
from forebay.formats.size import parse_size

SHUFFLES = ("window", "full", "blocks")
DEVICES = ("cpu",)


@dataclass(frozen=True, slots=True)
class LoaderConfig:
    """A loader's description: plain data, without threads or memory.

    Args:
        order: of samples; see `dataloader.plan`.
        threads: that work; 0 does all work in the consumer.
        memory: bytes that the loader may hold.
        window_bytes: of the window order.
        prefetch: batches under way at once, ready ones included.
    """

    batch_size: int
    order: OrderName
    seed: int
    drop_last: bool
    threads: int
    memory: int
    window_bytes: int
    prefetch: int
    device: str


def order_of(shuffle: object, dataset: ShardDataset) -> OrderName:
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
