"""What a process said last, for the reason of a failure in one line."""

from __future__ import annotations

LONGEST = 240


def last_words(text: str) -> str:
    """The last line that names an error, or the last line; cut to LONGEST characters."""
    lines = [line.strip(" │|").strip() for line in text.replace("\r", "\n").splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        return "not a word"
    said = next((line for line in reversed(lines) if "rror" in line), lines[-1])
    return said[:LONGEST]
