"""A dataset's summary and a few records as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.tools.output import aligned, cut, printable, size_text
from forebay.tools.preview import preview_text
from forebay.tools.refusal import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from forebay.formats.record import Field
    from forebay.formats.summary import Spread, Summary
    from forebay.tools.samples import Shown

_SHARDS_SHOWN = 10
_CLASSES_SHOWN = 5


def listing(summary: Summary, shown: Sequence[Shown]) -> Iterator[str]:
    """All lines, the most important first."""
    yield from aligned(facts(summary))
    yield ""
    yield from aligned([("field", "kind", ""), *fields(summary)])
    if len(summary.generations) > 1:
        yield ""
        yield from aligned(generations(summary))
    yield ""
    yield from aligned(shards(summary, _SHARDS_SHOWN))
    for record in shown:
        yield ""
        if record.fault:
            yield f"record {record.record} is damaged: {one_line(record.fault)}"
            continue
        yield f"record {record.record}"
        values = [(printable(k), preview_text(v)) for k, v in record.values.items()]
        yield from aligned(values, indent="  ")


def facts(summary: Summary) -> list[tuple[str, str]]:
    """(name, value) of what is said of the dataset as a whole."""
    s = summary
    rows = [
        ("dataset", printable(s.path)),
        ("format", f"{s.format}, written by {'others' if s.foreign else 'forebay'}"),
        ("codec", codec_text(s)),
        ("records", f"{s.records} in {s.blocks} blocks of {s.shards} shards"),
        ("at rest", size_text(s.bytes)),
        ("in memory", f"{size_text(s.memory_bytes)}, {s.ratio:.2f} times as much"),
        ("block records", spread_text(s.block_rows, str)),
        ("block at rest", spread_text(s.block_bytes, size_text)),
        ("block in memory", spread_text(s.block_memory, size_text)),
        ("generation", str(s.generation) if not s.foreign else "none"),
        ("fingerprint", s.fingerprint),
    ]
    if s.unchecked_bytes:
        least = " but checksums of its pages, where there are any" if s.format == "parquet" else ""
        rows.append(("unchecked", f"{size_text(s.unchecked_bytes)}: nothing checks them{least}"))
    if s.skipped:
        names = ", ".join(map(printable, s.skipped[:3])) + (", ..." if len(s.skipped) > 3 else "")
        rows.append(("not opened", f"{len(s.skipped)} more files: {names}"))
    return rows


def fields(summary: Summary) -> list[tuple[str, str, str]]:
    """(name, specification, classes) of each field."""
    return [(printable(f.name), f.spec, _classes(f)) for f in summary.schema]


def generations(summary: Summary) -> list[tuple[str, ...]]:
    """A row a generation, below the names of the columns."""
    head = ("generation", "records", "shards", "at rest", "fingerprint")
    rows = [
        (str(g.generation), str(g.records), str(g.shards), size_text(g.bytes), g.fingerprint[:16])
        for g in summary.generations
    ]
    return [head, *rows]


def shards(summary: Summary, limit: int) -> list[tuple[str, ...]]:
    """A row a shard, below the names of the columns; of many, the first `limit`."""
    rows: list[tuple[str, ...]] = [
        (printable(s.file), str(s.records), str(s.blocks), size_text(s.bytes))
        for s in summary.shard_files[:limit]
    ]
    left = len(summary.shard_files) - limit
    if left > 0:
        rows.append((f"and {left} more", "", "", ""))
    return [("shard", "records", "blocks", "at rest"), *rows]


def codec_text(summary: Summary) -> str:
    """The codec's configuration in words."""
    if summary.codec is None:
        return "as each shard says itself" if summary.format == "parquet" else "none"
    rest = [f"{k} {v}" for k, v in summary.codec.items() if k != "id"]
    return printable(", ".join([str(summary.codec["id"]), *rest]))


def spread_text(spread: Spread, unit: Callable[[int], str]) -> str:
    """Least, median and largest."""
    low, middle, high = unit(spread.min), unit(spread.median), unit(spread.max)
    return f"{low} to {high}, median {middle}"


def _classes(field: Field) -> str:
    if not field.classes:
        return ""
    names = ", ".join(printable(cut(c, 40)) for c in field.classes[:_CLASSES_SHOWN])
    more = ", ..." if len(field.classes) > _CLASSES_SHOWN else ""
    return f"{len(field.classes)} classes: {names}{more}"
