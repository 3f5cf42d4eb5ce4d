"""`forebay verify`: every byte of a dataset read and compared with what it should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forebay.tools.output import say, size_text
from forebay.tools.progress import ByteProgress
from forebay.tools.refusal import DAMAGED, DONE, one_line, refuse, refusing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forebay.formats.verify_report import VerifyReport

_EXTRA_SHOWN = 5


def verify(
    path: Annotated[
        Path, typer.Argument(help="Dataset, or Parquet or .rec of others.", show_default=False)
    ],
    workers: Annotated[int | None, typer.Option(help="Threads; default: CPUs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Reads every byte of a dataset, checks each digest and CRC, and lists every fault.

    Exit codes: 0 whole, 1 damage found, 2 nothing that could be verified, 130 stopped.

    Example: `forebay verify data/train --workers 8`
    """
    if workers is not None and workers < 1:
        refuse("verify", f"--workers must be at least 1, got {workers}")
    with refusing("verify", str(path)):
        # The engine takes a while to import, and --help does not need it.
        from forebay.formats.verify import verify_dataset

        with ByteProgress("verifying") as progress:
            report = verify_dataset(path, workers, progress.show)
        say(json.dumps(report.to_json()) if as_json else "\n".join(lines(report)))
    raise typer.Exit(DONE if report.ok else DAMAGED)


def lines(report: VerifyReport) -> Iterator[str]:
    """The report for people: a line a fault, then what was found in all."""
    for fault in report.faults:
        yield one_line(str(fault))
    extra = report.extra_files
    if extra:
        shown = ", ".join(extra[:_EXTRA_SHOWN]) + (", ..." if len(extra) > _EXTRA_SHOWN else "")
        yield one_line(f"not part of the dataset: {len(extra)} more files in the folder: {shown}")
    if report.unchecked_records:
        yield (
            f"unchecked: {report.unchecked_records} of {report.records} records, "
            f"{size_text(report.unchecked_bytes)}: they decode, but no checksum covers them; "
            "`forebay pack` makes a dataset in which every byte is covered"
        )
    count = len(report.faults)
    verdict = "whole" if report.ok else f"damaged: {count} fault{'s' if count != 1 else ''}"
    yield one_line(
        f"{report.dataset}: {verdict}; read {report.records} records of {report.shards} shards, "
        f"{size_text(report.bytes)}"
    )
