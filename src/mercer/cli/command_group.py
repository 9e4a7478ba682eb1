"""All commands, each imported when it is used."""

from __future__ import annotations

import difflib
import os
import sys
from importlib import import_module
from io import StringIO
from typing import Any

import click

from .. import __version__
from .escaping import printable

COMMANDS = ("compare", "diagnose", "evaluate", "export", "fit", "inspect", "maps", "predict", "transform", "tune")
INTERRUPTED = 130


class Commands(click.Group):
    """Commands by the names of their modules."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return import_module(f".{cmd_name}", __package__).command if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        if name not in COMMANDS and near:
            ctx.fail(f"no such command {name!r}; did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run as click does, except that Ctrl-C exits with 130, as shells expect, and a reader that stops with 0."""
        run: Any = super().main
        stdout = sys.stdout
        if not standalone_mode:
            return run(*args, standalone_mode=False, **options)
        try:
            code = run(*args, standalone_mode=False, **options)
            sys.stdout.flush()  # now, because a closed pipe could not be reported later
        except click.ClickException as error:
            told = StringIO()
            error.show(told)
            click.echo(printable(told.getvalue(), breaks=True), err=True, nl=False)  # the text may quote files
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except (BrokenPipeError, SystemExit) as end:
            if isinstance(end, SystemExit) and sys.stdout is stdout:  # click replaces it if nobody reads it
                raise
            say_no_more()
            sys.exit(0)
        sys.exit(code if isinstance(code, int) else 0)


def say_no_more() -> None:
    """Discard what would still be flushed at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def mercer() -> None:
    """Kernel machines at linear cost, from files to predictions.

    \b
    mercer fit houses.csv --target price -o houses.mercer
    mercer predict houses.mercer new-houses.csv -o predicted.csv

    Rows come from CSV, Parquet, Arrow, LIBSVM and NumPy files, from folders and patterns of such files, or as CSV from
    standard input (-). Results go to standard output, everything else to standard error. Every command has --json for
    output that programs can read, --config FILE.toml for its options, and --debug for the traceback of an error.

    Exit codes: 0 success (also if the reader of the output stops early), 1 error in the input, 2 error in the command
    line, 130 Ctrl-C.
    """
