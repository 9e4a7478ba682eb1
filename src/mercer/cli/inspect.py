"""``mercer inspect``: the contents of a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .command import Command
from .model_argument import model_argument
from .output import for_machines, show_json, show_table, size

if TYPE_CHECKING:
    from ..report.model_contents import Column

MOST_COLUMNS = 20
"""The largest number of columns to list on a screen."""


@click.command("inspect", cls=Command, short_help="Show what is in a model file.")
@model_argument
def command(model):
    """Show what is in a model file, and which columns it needs for predictions.

    The file is read in full and checked.

    \b
    Example:
      mercer inspect houses.mercer
    """
    from ..report import contents

    found = contents(model)
    if for_machines():
        columns = None if found.named is None else [column._asdict() for column in found.named]
        held = {**found._asdict(), "named": columns}
        return show_json(
            {name: value for name, value in held.items() if name not in ("steps", "prepared") or value is not None}
        )
    rows = {
        "file": f"{found.name}, {size(found.bytes)}",
        "sha256": found.sha256,
        "model": found.kind if found.steps is None else f"{found.kind}: {', '.join(found.steps)}",
        "map": f"{found.map}, {found.features:,} features, seed {found.seed}",
        "kernel": found.kernel,
        "target": column(found.target),
        "weight": column(found.weight),
        "classes": None if found.classes is None else listed(found.classes),
        "scale": found.scale or "none",
        "parameters": "in the file" if found.parameters == "full" else "drawn again from the seed",
        "written by": ", ".join(f"{name} {version}" for name, version in found.versions.items()),
    }
    show_table(("what", "found"), [(name, value) for name, value in rows.items() if value is not None])
    for sentence in found.prepared or ():
        click.echo(f"{sentence[0].upper()}{sentence[1:]}.")
    if found.named is None:
        click.echo(f"needs {found.columns:,} columns of numbers without names")
    else:
        needed = [(one.name, held_by(one)) for one in found.named]
        show_table(("column needed", "holds"), needed[:MOST_COLUMNS])
        if len(needed) > MOST_COLUMNS:
            click.echo(f"and {len(needed) - MOST_COLUMNS:,} more columns, which --json lists")


def column(named: Any) -> str | None:
    """Return the name of a column, the names of several, or its number."""
    if named is None or isinstance(named, str):
        return named
    return f"column number {named}" if isinstance(named, int) else ", ".join(named)


def held_by(column: Column) -> str:
    """Describe what a column contains."""
    if column.time is not None:
        return f"{column.time}s, as days" + (" since 1970-01-01" if column.time == "date" else "")
    return "numbers" if column.levels is None else f"levels: {listed(column.levels)}"


def listed(values: list[Any]) -> str:
    """Return the first values as text."""
    return ", ".join(map(str, values[:10])) + (f", ... ({len(values)} in all)" if len(values) > 10 else "")
