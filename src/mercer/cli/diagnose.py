"""``mercer diagnose``: the effect of a kernel on rows, with advice."""

from __future__ import annotations

import click

from .._defaults import TABLE_KERNEL
from .command import Command
from .data_options import (
    READING,
    KernelType,
    between_commas,
    data_argument,
    exclude_option,
    gap_options,
    reading_options,
    table_of,
)
from .escaping import printable
from .output import for_machines, show_json


@click.command("diagnose", cls=Command, short_help="Show how a kernel sees rows, and what to do about it.")
@data_argument
@click.option("--target", help="Column to predict, used to compare bandwidths; optional.")
@click.option("--columns", callback=between_commas, help="Features, separated by commas; by default all other columns.")
@exclude_option
@click.option("--kernel", type=KernelType(), default=TABLE_KERNEL, show_default=True)
@click.option(
    "--scale", type=click.Choice(["auto", "standard", "unit", "minmax", "none"]), default="auto", show_default=True,
    help="As in 'mercer fit'; none keeps the columns as they are.",
)  # fmt: skip
@gap_options
@reading_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
def command(data, target, columns, kernel, scale, missing, dates, memory, seed, **options):
    """Show how a kernel sees the rows of DATA: effective dimension, bandwidth, scales, duplicates and tails.

    Rows are prepared as 'mercer fit' prepares them, and at most 20,000 of them are examined. Findings that need
    attention are marked with an exclamation mark, with advice below.

    \b
    Examples:
      mercer diagnose houses.csv --target price
      mercer diagnose houses.csv --exclude town --kernel "laplacian(0.5)" --scale none --json
    """
    from ..choose import diagnose_table

    reading = {name: options.pop(name) for name in (*READING, "exclude")}
    with table_of(data, memory, target=target, columns=columns, **reading) as table:
        found = diagnose_table(
            kernel,
            table,
            scale=None if scale == "none" else scale,
            memory=memory,
            seed=seed,
            missing=missing,
            dates=dates,
        )
    if for_machines():
        return show_json(found.to_dict())
    click.echo(printable(str(found), breaks=True))
