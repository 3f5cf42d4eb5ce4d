"""The cursor: where a loader stands, as JSON that any loader of the same plan can go on from.

What a stream of samples is a function of is in it, and nothing else: not the ranks, threads or
memory of the loader that wrote it. It is the same on every rank.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forebay.dataloader.flow.errors import CursorError

VERSION = 1
MOST_EPOCH = 2**64 - 1
KEYS = frozenset(
    ("forebay_cursor", "fingerprint", "generation", "plan", "seed", "epoch", "position", "step",
     "batch", "decode")
)  # fmt: skip
CODE = ("map", "filter")
"""Fields that are there where user code is."""


class Position(NamedTuple):
    """Where a loader stands.

    Args:
        epoch: that it is in.
        step: of the next batch.
        sample: the next batch's first place in the epoch's global order: as many samples of the
            epoch were delivered, over all ranks.
    """

    epoch: int
    step: int
    sample: int


@dataclass(frozen=True, slots=True)
class Stream:
    """What the stream of samples is a function of, besides the position.

    Args:
        fingerprint: of the dataset, without its filter, which the plan names.
        generation: of the dataset, for messages.
        total: samples in an epoch.
        plan: settings of the order: its name, and for windows their shape.
        seed: of the order and of every sample's random numbers.
        decode: a digest of what is made of fields, see `decode_digest`.
        code: by "map" and "filter", where there is one, the name of the user's function. A name
            tells one from another; of what it does it tells nothing.
    """

    fingerprint: str
    generation: int
    total: int
    plan: Mapping[str, str | int]
    seed: int
    decode: str
    code: Mapping[str, str] = field(default_factory=dict)


def decode_digest(columns: tuple[str, ...] | None, decode: Mapping[str, object]) -> str:
    """32 hex digits that tell apart what is made of which fields.

    Args:
        columns: that are read; None for all.
        decode: a description by field; its `repr` names everything that a sample depends on.
    """
    named = {name: repr(spec) for name, spec in sorted(decode.items())}
    text = json.dumps(["forebay-decode-1", columns, named], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write(stream: Stream, batch: Mapping[str, str | int], at: Position) -> dict[str, Any]:
    """The cursor as a dict that JSON takes.

    Args:
        batch: how the order was cut, for whoever reads it; the loader that goes on cuts its own.
    """
    return {
        "forebay_cursor": VERSION,
        "fingerprint": stream.fingerprint,
        "generation": stream.generation,
        "plan": dict(stream.plan),
        "seed": stream.seed,
        "epoch": at.epoch,
        "position": at.sample,
        "step": at.step,
        "batch": dict(batch),
        "decode": stream.decode,
        **stream.code,
    }


def read(state: object, stream: Stream, allow: frozenset[str] = frozenset()) -> Position:
    """The position that a cursor tells, for a loader of this stream.

    Args:
        allow: fields that may differ: "decode", "map", "filter".

    Raises:
        CursorError: it is no cursor, or one of another stream; names the field.
    """
    if not isinstance(state, Mapping) or "forebay_cursor" not in state:
        raise CursorError(
            f"this is no cursor of a forebay loader: {state!r:.100}; give what `state_dict()` gave"
        )
    if state["forebay_cursor"] != VERSION:
        raise CursorError(
            f"cursor of version {state['forebay_cursor']!r}; this forebay reads {VERSION}"
        )
    if missing := sorted(KEYS - set(state)):
        raise CursorError(f"the cursor lacks {', '.join(missing)}: it is damaged")
    _same(state, stream, allow)
    at = Position(
        _whole(state, "epoch", MOST_EPOCH),
        _whole(state, "step", stream.total),
        _whole(state, "position", stream.total),
    )
    if at.step > at.sample:
        raise CursorError(
            f"the cursor's step {at.step} lies beyond its position {at.sample}: it is damaged"
        )
    return at


def _same(state: Mapping[str, Any], stream: Stream, allow: frozenset[str]) -> None:
    if state["fingerprint"] != stream.fingerprint:
        raise CursorError(
            f"fingerprint: the cursor is of other data ({state['fingerprint']!r:.20}, generation "
            f"{state['generation']!r}) than the dataset ({stream.fingerprint[:16]!r}, generation "
            f"{stream.generation}); open that generation: open_dataset(..., generation=...)"
        )
    if not isinstance(state["plan"], Mapping):
        raise CursorError(f"plan: expected a dict, got {state['plan']!r:.100}")
    for name in sorted({*stream.plan, *map(str, state["plan"])}):
        got, ours = state["plan"].get(name), stream.plan.get(name)
        if got != ours:
            made = "dataset.filter()" if name == "filter" else "shuffle= and window_bytes="
            raise CursorError(
                f"plan.{name}: the cursor's order has {got!r}, this loader's {ours!r}; "
                f"give the {made} that it was made with"
            )
    if state["seed"] != stream.seed:
        raise CursorError(
            f"seed: the cursor's is {state['seed']!r}, this loader's {stream.seed}; "
            f"give seed={state['seed']!r}"
        )
    if state["decode"] != stream.decode and "decode" not in allow:
        raise CursorError(
            "decode: the cursor is of a loader with other columns= or decode=, so samples would "
            'change within the epoch; give the same, or load_state_dict(..., allow=["decode"])'
        )
    for name in CODE:
        got, ours = state.get(name), stream.code.get(name)
        if got != ours and name not in allow:
            raise CursorError(
                f"{name}: the cursor is of a loader with {name}={got}, this one's is {ours}, so "
                f"samples would change within the epoch; give the same, or "
                f'load_state_dict(..., allow=["{name}"])'
            )


def _whole(state: Mapping[str, Any], name: str, most: int) -> int:
    value = state[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise CursorError(f"{name}: expected an int from 0 to {most}, got {value!r:.100}")
    return value
