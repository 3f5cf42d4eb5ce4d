"""How a verb ends where it cannot do its work: one line on standard error, exit code 2."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import typer

from forebay.formats.errors import ForebayError, StorageError
from forebay.tools.output import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE, DAMAGED, REFUSED, STOPPED = 0, 1, 2, 130
"""Exit codes of all verbs."""

_AGAIN = "see that it can be read, and run the same command again"


def one_line(text: str) -> str:
    """`text` on one line, harmless to a terminal."""
    return printable(" ".join(text.split()))


def refuse(verb: str, what: str) -> NoReturn:
    """Says what was wrong and ends the command.

    Raises:
        typer.Exit: with code 2, always.
    """
    typer.echo(f"forebay {verb}: {one_line(what)}", err=True)
    raise typer.Exit(REFUSED)


@contextmanager
def refusing(verb: str, place: str) -> Iterator[None]:
    """Errors that are no bug, and Ctrl-C, end the command instead of passing.

    Args:
        verb: name of the command, for the message.
        place: what is worked on; put before messages that do not name it.

    Raises:
        typer.Exit: 2 where the data or the system refuse, 130 where the user stopped it.
    """
    try:
        yield
    except StorageError as e:
        refuse(verb, f"{e}; {_AGAIN}")
    except ForebayError as e:
        what = str(e)
        refuse(verb, what if place in what else f"{place}: {what}")
    except OSError as e:
        where = e.filename if isinstance(e.filename, str) else place
        refuse(verb, f"{where}: {e.strerror or e}; {_AGAIN}")
    except MemoryError:
        refuse(verb, f"{place}: not enough memory; leave it more, or make the blocks smaller")
    except KeyboardInterrupt:
        typer.echo(f"forebay {verb}: stopped", err=True)
        raise typer.Exit(STOPPED) from None
