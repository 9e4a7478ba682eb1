"""``mercer predict``: the predictions of a model for rows."""

from __future__ import annotations

import sys
from typing import Any

import click

from .._formats import format_to_write, usual_endings
from .command import Command
from .data_options import all_between_commas, data_argument, reading_options, table_of
from .destinations import check_destinations
from .escaping import TerminalWriter
from .model_argument import loaded, model_argument, treating, unknown_option
from .output import check_writable, for_machines, show_json

EXTRAS = ("probabilities", "decisions", "deviations")


def standard_output() -> Any:
    """Return standard output as a binary file, on which labels cannot control a terminal."""
    return TerminalWriter(sys.stdout) if sys.stdout.isatty() else sys.stdout.buffer


@click.command("predict", cls=Command, short_help="Predict the target of rows.")
@model_argument
@data_argument
@click.option(
    "--with", "extras", type=click.Choice(EXTRAS), multiple=True,
    help="Columns to add to the prediction; repeat the option for several.",
)  # fmt: skip
@click.option(
    "--keep", multiple=True, callback=all_between_commas, metavar="COLUMN",
    help="Column of DATA, such as an id, to put before the prediction; several with commas, or repeat the option.",
)  # fmt: skip
@unknown_option
@reading_options
@click.option(
    "-o", "--output", default="-", show_default=True,
    help=f"File to write, {usual_endings(with_names=True)}; - is CSV on standard output.",
)  # fmt: skip
@click.option(
    "--spreadsheet-safe", is_flag=True,
    help="In CSV, put ' before text that a spreadsheet would interpret as a formula.",
)  # fmt: skip
def command(model, data, extras, keep, unknown, memory, output, spreadsheet_safe, **reading):
    """Predict the target of every row of DATA, in its order.

    The column "prediction" contains labels or numbers. With --with, a classifier adds probabilities or decision values,
    and a regressor fitted with --deviations adds standard deviations. Columns of DATA are found by name. Columns named
    by --keep need not be features, and are written as they are stored (fields of CSV as text).

    \b
    Examples:
      mercer predict houses.mercer new-houses.csv --keep town -o predicted.csv
      mercer predict flowers.mercer new-flowers.csv --with probabilities -o predicted.parquet
    """
    from .._atomic import descriptor_of
    from ..data import write
    from ..report import predictions

    to_stdout = output == "-" or descriptor_of(output) == 1
    if to_stdout and for_machines():
        raise click.UsageError("--json describes the file that was written: give one with -o")
    check_destinations({"-o": "-" if to_stdout else output}, data, model, reading["format"])
    if not to_stdout:
        check_writable(output)
    format = "csv" if to_stdout else format_to_write(output, with_names=True)
    fitted = treating(loaded(model), unknown)
    with table_of(data, memory, model=fitted, keep=keep, **reading) as table:
        found = predictions(fitted, table, extras, keep=keep)
        rows = write(standard_output() if to_stdout else output, found, format, spreadsheet_safe=spreadsheet_safe)
    if for_machines():
        show_json({"model": model, "output": output, "rows": rows})
    elif not to_stdout:
        click.echo(f"{output}: {rows:,} rows")
