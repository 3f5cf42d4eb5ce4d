"""The `forebay` command: one verb a file, registered here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from forebay import __version__
from forebay.tools.output import say
from forebay.tools.refusal import STOPPED


def command() -> typer.Typer:
    """The command with all its verbs; loads what they import."""
    from forebay.tools.inspect import inspect
    from forebay.tools.pack import pack
    from forebay.tools.verify import verify

    app = typer.Typer(
        name="forebay",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )
    app.callback()(options)
    for verb in (pack, inspect, verify):
        app.command()(verb)
    return app


def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=lambda asked: _version() if asked else None,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Packs datasets into shards, looks into them, and proves them whole."""


def main() -> None:
    """Runs the command line. Exit codes: 0 done, 1 damage found, 2 refused, 130 interrupted."""
    try:
        command()(prog_name="forebay")
    except KeyboardInterrupt:
        # Stopped while the verbs were still being imported: there is nothing to tell.
        sys.exit(STOPPED)


def _version() -> None:
    say(f"forebay {__version__}")
    raise typer.Exit
