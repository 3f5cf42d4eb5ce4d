"""A few records of a dataset, read and made small; damage is shown where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.formats.errors import ShardError
from forebay.tools.preview import preview

if TYPE_CHECKING:
    from forebay.formats.dataset import ShardDataset


@dataclass(frozen=True, slots=True)
class Shown:
    """One record.

    Args:
        record: its number in the dataset.
        values: what `preview` made of each field, by name; empty where the record is damaged.
        fault: what is wrong with it, or "".
    """

    record: int
    values: dict[str, Any]
    fault: str = ""

    def to_json(self) -> dict[str, Any]:
        """A JSON value: `{"record", "values"}` or `{"record", "fault"}`."""
        if self.fault:
            return {"record": self.record, "fault": self.fault}
        return {"record": self.record, "values": self.values}


def first_records(dataset: ShardDataset, count: int) -> list[Shown]:
    """The first `count` records, fewer where there are fewer.

    Raises:
        StorageError: the store failed, which says nothing about the records.
    """
    return [_shown(dataset, i) for i in range(min(count, len(dataset)))]


def _shown(dataset: ShardDataset, i: int) -> Shown:
    try:
        record = dataset[i]
    except ShardError as e:
        return Shown(i, {}, str(e))
    return Shown(i, {f.name: preview(f, record[f.name]) for f in dataset.schema})
