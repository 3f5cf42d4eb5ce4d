"""What reading some columns of a shard takes: worked out once for its footer, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forebay.formats.parquet.chunks import leaves_of
from forebay.formats.parquet.plain import PlainForm, plain_forms

if TYPE_CHECKING:
    from forebay.formats.parquet.footer import Footer
    from forebay.formats.record import Schema


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPlan:
    """Of some columns of a file.

    Args:
        leaves: that the decoder reads for them.
        forms: of the columns that may be read without Arrow, by name.
        costs: by block, (bytes at rest, bytes in memory), as far as they were asked for.
    """

    leaves: tuple[int, ...]
    forms: dict[str, PlainForm]
    costs: dict[int, tuple[int, int]] = field(default_factory=dict)


def plan_of(footer: Footer, columns: Schema) -> ColumnPlan:
    """The plan for these columns, kept with the footer."""
    plan = footer.plans.get(columns.names)
    if plan is None:
        plan = ColumnPlan(leaves_of(footer, columns), plain_forms(footer, columns))
        footer.plans[columns.names] = plan
    return plan
