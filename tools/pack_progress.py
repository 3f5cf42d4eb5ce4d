"""What `forebay pack` shows while it runs and when it is done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Self

from rich.progress import TaskID, TextColumn

from forebay.tools.output import printable
from forebay.tools.progress import byte_bars

if TYPE_CHECKING:
    from types import TracebackType

    from forebay.formats.pack.report import PackReport
    from forebay.formats.pack.report import Progress as Done

_SKIPPED_SHOWN = 10


class PackProgress:
    """A bar of records and one of bytes, on stderr when that is a terminal."""

    def __init__(self) -> None:
        self._bars = byte_bars(TextColumn("{task.fields[records]} records"))
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        self._task = self._bars.add_task("looking at inputs", total=None, records=0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(self, done: Done) -> None:
        """Moves the bar."""
        if self._task is not None:
            self._bars.update(
                self._task,
                description=f"shard {done.shards} of {done.total_shards}",
                records=f"{done.records} of {done.total_records}",
                completed=done.bytes,
                total=done.total_bytes,
            )


def summary(report: PackReport) -> str:
    """The report as one line, and one for each note and each input that was left out."""
    reused = f" ({report.shards_reused} from before)" if report.shards_reused else ""
    skipped = f", {len(report.skipped)} skipped" if report.skipped else ""
    line = (
        f"packed {report.records} records{skipped} from {report.source} into "
        f"{printable(report.path)}: {report.shards} shards{reused}, {report.bytes / 1e6:.1f} MB "
        f"of {report.format}, codec {json.loads(report.codec)['id']}, order {report.order}, "
        f"{report.seconds:.1f} s{_images(report)}"
    )
    shown = report.skipped[:_SKIPPED_SHOWN]
    lines = [printable(f"skipped {r.name}: {r.why}") for r in shown]
    if len(report.skipped) > _SKIPPED_SHOWN:
        lines.append(f"skipped {len(report.skipped) - _SKIPPED_SHOWN} more; --json lists them")
    return "\n".join([line, *report.notes, *lines])


def _images(report: PackReport) -> str:
    """How many images are seekable, and why others are not."""
    made = report.image_fates.get("transcoded", 0)
    kept = {fate: n for fate, n in report.image_fates.items() if fate != "transcoded"}
    # Where no image is JPEG there is nothing to say, and nothing went wrong.
    if not made and kept.keys() <= {"not-jpeg"}:
        return ""
    said = f", {made} images seekable"
    if kept:
        why = ", ".join(f"{n} {fate}" for fate, n in kept.items())
        said += f", {sum(kept.values())} kept as they are ({why})"
    return said
