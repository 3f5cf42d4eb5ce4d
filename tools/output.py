"""What every verb does with its words: standard output that may close, and text made harmless."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNITS = ("kB", "MB", "GB", "TB", "PB", "EB")


def say(text: str) -> None:
    """Prints `text` and a line break on standard output, at once.

    A reader that has gone, as `| head` goes, is no error: what is left is dropped, and the verb
    still ends with the exit code that it would have had. Characters that the terminal's encoding
    lacks are written as escapes.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    data = f"{text}\n".encode(encoding, "backslashreplace")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The interpreter flushes once more when it ends, and that must find an open file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(text: str) -> str:
    """`text` with what is not printable as an escape: it stays on its line and moves no cursor.

    Names and values come out of files, so they may hold terminal commands, line breaks and marks
    that reverse the direction of writing.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def size_text(size: float) -> str:
    """A number of bytes for people: `999 B`, `109.5 kB`; a kB is 1,000 bytes."""
    if size < 1000:
        return f"{size:.0f} B"
    for unit in _UNITS:
        size /= 1000
        if size < 999.95 or unit == _UNITS[-1]:
            break
    return f"{size:.1f} {unit}"


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, with dots where there are more."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def aligned(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[str]:
    """Rows as lines in which each column but the last begins below the one before."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    return [
        (indent + "  ".join([*map(str.ljust, row[:-1], widths), row[-1]])).rstrip() for row in rows
    ]


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
