"""``mercer maps``: every map, the kernels it serves, and what a row costs."""

from __future__ import annotations

import click

from .command import Command
from .data_options import KernelType
from .output import for_machines, show_json, show_table


@click.command("maps", cls=Command, short_help="List the maps and the kernels they serve.")
@click.option("--kernel", type=KernelType(), help="Only maps that serve this kernel, the one to begin with first.")
def command(kernel):
    """List the maps, with the kernels that they serve and what a row costs.

    d columns, nnz of them not zero, D features, degree p.

    \b
    Examples:
      mercer maps
      mercer maps --kernel "laplacian(0.5)"
    """
    from ..choose import MAPS, maps_for

    notes = {note.name: note for note in MAPS}
    names = list(notes) if kernel is None else list(maps_for(kernel))
    if for_machines():
        return show_json({"maps": [notes[name]._asdict() for name in names]})
    rows = [(notes[name].name, notes[name].kernels, notes[name].when, notes[name].cost) for name in names]
    show_table(("map", "kernels", "when", "cost of a row"), [[text.replace("`", "") for text in row] for row in rows])
