"""``mercer transform``: the features of rows."""

from __future__ import annotations

import click

from .._formats import format_to_write, usual_endings
from .command import Command
from .data_options import data_argument, reading_options, table_of
from .destinations import check_destinations
from .model_argument import loaded, model_argument, treating, unknown_option
from .output import check_writable, for_machines, show_json


@click.command("transform", cls=Command, short_help="Write the features of rows.")
@model_argument
@data_argument
@unknown_option
@reading_options
@click.option("-o", "--output", required=True, help=f"File to write: {usual_endings()}.")
def command(model, data, unknown, memory, output, **reading):
    """Write the features of every row of DATA: the output of a map, or the input of a learner's linear model.

    An .npy file contains one matrix; in other files the columns are f0, f1, ...

    \b
    Example:
      mercer transform houses.mercer houses.csv -o features.npy
    """
    from ..data import write
    from ..report import features

    check_destinations({"-o": output}, data, model, reading["format"])
    check_writable(output)
    format = format_to_write(output)
    fitted = treating(loaded(model), unknown)
    with table_of(data, memory, model=fitted, **reading) as table:
        rows = write(output, features(fitted, table), format)
    if for_machines():
        show_json({"model": model, "output": output, "rows": rows})
    else:
        click.echo(f"{output}: {rows:,} rows")
