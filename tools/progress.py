"""Progress bars of bytes, on standard error where that is a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

if TYPE_CHECKING:
    from types import TracebackType


def byte_bars(*more: ProgressColumn) -> Progress:
    """A display of what is done, a bar, bytes, speed and the time left.

    Args:
        more: columns between the bar and the bytes.
    """
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *more,
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class ByteProgress:
    """One bar of bytes, gone when it is left.

    Args:
        doing: what is shown before the bar.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._bars = byte_bars()
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        self._task = self._bars.add_task(self._doing, total=None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(self, done: int, total: int) -> None:
        """Moves the bar to `done` of `total` bytes."""
        if self._task is not None:
            self._bars.update(self._task, completed=done, total=total)
