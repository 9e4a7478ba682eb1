"""``mercer maps``: every map, the kernels it supports, and the cost per row."""

from __future__ import annotations

import click

from .command import Command
from .data_options import KernelType
from .output import for_machines, show_json, show_table


@click.command("maps", cls=Command, short_help="List the maps and the kernels they support.")
@click.option("--kernel", type=KernelType(), help="List only maps that support this kernel, the recommended one first.")
def command(kernel):
    """List the maps, with the kernels that they support and the cost per row.

    In the costs, d is the number of columns, nnz the number of nonzero entries, D the number of features and p the
    degree.

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
    show_table(("map", "kernels", "when", "cost per row"), [[text.replace("`", "") for text in row] for row in rows])
