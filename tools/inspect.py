"""`forebay inspect`: what a dataset is made of, and how a few of its records look."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forebay.tools.output import printable, say
from forebay.tools.refusal import DAMAGED, DONE, refuse, refusing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay.formats.dataset import ShardDataset
    from forebay.formats.summary import Summary
    from forebay.tools.samples import Shown

_PICTURES = 64
_MOST = 10_000


def inspect(
    path: Annotated[
        Path, typer.Argument(help="Dataset, or Parquet or .rec of others.", show_default=False)
    ],
    records: Annotated[int, typer.Option(help="Records to show, from the first on.")] = 3,
    html: Annotated[
        Path | None, typer.Option(help="Also write a page with pictures to this .html file.")
    ] = None,
    pictures: Annotated[
        int | None, typer.Option(help=f"Most pictures on the page; default {_PICTURES}.")
    ] = None,
    kept: Annotated[
        str | None,
        typer.Option(
            "--filter", help="Count and show the records for which this is true: 'label < 10'."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it all as JSON.")] = False,
) -> None:
    """Shows schema, format, codec, shards, sizes, and a few records of a dataset.

    Exit codes: 0 done, 1 a record that was to be shown is damaged, 2 nothing that could be opened,
    130 stopped.

    Example: `forebay inspect data/train --records 5 --html train.html`
    """
    _check(records, html, pictures)
    with refusing("inspect", str(path)):
        # The engine takes a while to import, and --help does not need it.
        from forebay.formats.dataset import ShardDataset
        from forebay.formats.find import find
        from forebay.formats.summary import summarize
        from forebay.tools.listing import listing
        from forebay.tools.samples import first_records

        opened = find(path)
        dataset, summary = ShardDataset(opened), summarize(opened)
        if kept is not None:
            dataset = dataset.filter(kept)
        shown = first_records(dataset, records)
        damaged = any(s.fault for s in shown)
        if html is not None:
            count = _PICTURES if pictures is None else pictures
            damaged |= _write(html, dataset, summary, shown, count)
        if as_json:
            found: dict[str, object] = {
                "samples": [s.to_json() for s in shown],
                "html": str(html) if html else None,
            }
            if kept is not None:
                found["filter"] = {"text": dataset.filtered, "records": len(dataset)}
            say(json.dumps({**summary.to_json(), **found}))
        else:
            say("\n".join(listing(summary, shown)))
            if kept is not None:
                say(f"\nfilter: {printable(str(dataset.filtered))}")
                say(f"kept: {len(dataset)} of {dataset.stored} records")
            if html is not None:
                say(f"\npage: {printable(str(html))}")
    raise typer.Exit(DAMAGED if damaged else DONE)


def _check(records: int, html: Path | None, pictures: int | None) -> None:
    for name, value in (("records", records), ("pictures", pictures)):
        if value is not None and not 0 <= value <= _MOST:
            refuse("inspect", f"--{name} must be 0 to {_MOST}, got {value}")
    if pictures is not None and html is None:
        refuse("inspect", f"--pictures {pictures} is for the page: say --html FILE too")
    # A slip of the keyboard must not replace a file of the dataset.
    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        refuse("inspect", f"--html {html} must be the name of a .html file")


def _write(
    html: Path, dataset: ShardDataset, summary: Summary, shown: Sequence[Shown], limit: int
) -> bool:
    """Writes the page, whole or not at all; gives whether a record for it was damaged."""
    from forebay.formats.storage.publish import write_atomic
    from forebay.tools.page import page
    from forebay.tools.thumbnails import pictures

    found = pictures(dataset, limit)
    data = page(summary, shown, found).encode("utf-8", "backslashreplace")
    try:
        write_atomic(html, data)
    except OSError as e:
        refuse("inspect", f"cannot write {html}: {e.strerror}; name another file")
    return any(p.fault and not p.field for p in found)
