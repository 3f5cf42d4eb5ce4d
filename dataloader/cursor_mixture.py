"""What a cursor tells of a mixture whose weights were changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay.dataloader.cursor import MOST_EPOCH, Position
from forebay.dataloader.flow.errors import CursorError
from forebay.dataloader.plan.mixture import Change, MixturePlan
from forebay.dataloader.plan.shares import CYCLE

KEY = "mixture"
MOST_CHANGED = 64
"""Datasets whose counts a cursor of 4 kB has room for."""


def write_change(plan: MixturePlan | None) -> dict[str, Any]:
    """The cursor's field, where weights were changed: nothing else."""
    if plan is None or plan.change is None:
        return {}
    change = plan.change
    return {
        KEY: {
            "epoch": change.epoch,
            "position": change.position,
            "taken": list(change.taken),
            "quota": list(change.quota),
        }
    }


def read_change(state: Mapping[str, Any], plan: MixturePlan | None, at: Position) -> Change | None:
    """The change of weights that a cursor tells.

    Args:
        at: where the cursor stands.

    Raises:
        CursorError: it is not one of this mixture.
    """
    told = state.get(KEY)
    if told is None:
        return None
    if plan is None:
        raise CursorError(f"{KEY}: the cursor is of a mixture, this loader has one dataset")
    if not isinstance(told, Mapping) or set(told) != {"epoch", "position", "taken", "quota"}:
        raise CursorError(f"{KEY}: expected weights that were changed, got {told!r:.200}")
    epoch, position = told["epoch"], told["position"]
    total, count = plan.shares.total, len(plan.components)
    if not (_whole([epoch], MOST_EPOCH) and _whole([position], total)):
        raise CursorError(f"{KEY}: epoch {epoch!r:.50} and position {position!r:.50} are no place")
    if (at.epoch, at.sample) < (epoch, position):
        raise CursorError(
            f"{KEY}: the weights were changed behind where the cursor stands: it is damaged"
        )
    for name, sums, most in (
        ("taken", {epoch * total + position}, epoch * total + position),
        ("quota", range(1, CYCLE + 1), CYCLE),
    ):
        counts = told[name]
        if not _whole(counts, most) or len(counts) != count or sum(counts) not in sums:
            raise CursorError(f"{KEY}.{name}: {counts!r:.100} cannot be, of {count} datasets")
    return Change(epoch, position, tuple(told["taken"]), tuple(told["quota"]))


def _whole(values: object, most: int) -> bool:
    """Whether it is a list of whole numbers from 0 to the most."""
    return isinstance(values, list) and all(
        isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= most for n in values
    )
