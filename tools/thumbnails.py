"""Pictures from all over a dataset as thumbnails, for a page that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay.dataloader.decode.thumbnail import thumbnail
from forebay.dataloader.flow.errors import DecodeError
from forebay.formats.errors import ShardError
from forebay.formats.image.header import probe
from forebay.tools.preview import preview, preview_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forebay.formats.dataset import ShardDataset
    from forebay.formats.record import Schema


@dataclass(frozen=True, slots=True)
class Picture:
    """One image of one record, or why it cannot be shown.

    Args:
        record: its number in the dataset.
        field: name of its field; "" where the whole record is damaged.
        about: encoding, size and, where it has one, class; not escaped.
        jpeg: the thumbnail's file; b"" where `fault` says why there is none.
    """

    record: int
    field: str
    about: str = ""
    jpeg: bytes = b""
    fault: str = ""


def pictures(dataset: ShardDataset, limit: int) -> list[Picture]:
    """At most `limit` pictures, of records that lie evenly over the dataset, in their order.

    Raises:
        StorageError: the store failed, which says nothing about the pictures.
    """
    fields = [f.name for f in dataset.schema if f.kind in ("image", "bytes")]
    if not fields or not limit or not len(dataset):
        return []
    count = min(limit, len(dataset))
    # In the middle of equal parts; cast to int, so that no record comes twice.
    records = ((np.arange(count) + 0.5) * (len(dataset) / count)).astype(np.int64)
    found: list[Picture] = []
    for record in records.tolist():
        found += _of_record(dataset, record, fields)
        if len(found) >= limit:
            break
    return found[:limit]


def _of_record(dataset: ShardDataset, record: int, fields: list[str]) -> Iterator[Picture]:
    try:
        values = dataset[record]
    except ShardError as e:
        yield Picture(record, "", fault=str(e))
        return
    for name in fields:
        value = values[name]
        # Fields of bytes are shown where they turn out to be images; of images each is.
        if value is None or (dataset.schema[name].kind == "bytes" and probe(value) is None):
            continue
        about = ", ".join(
            [preview_text(preview(dataset.schema[name], value)), *_classes(values, dataset.schema)]
        )
        try:
            yield Picture(record, name, about, thumbnail(value))
        except DecodeError as e:
            yield Picture(record, name, about, fault=str(e))


def _classes(values: dict[str, Any], schema: Schema) -> Iterator[str]:
    """Names of the classes that the record's labels say."""
    for field in schema:
        if field.classes:
            shown = preview(field, values[field.name])
            if isinstance(shown, dict) and "class" in shown:
                yield shown["class"]
