"""``mercer compare``: maps compared with each other and with the exact kernel machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .._defaults import COMPARED_WIDTHS, TABLE_KERNEL
from .command import Command
from .data_options import (
    LOSSES,
    READING,
    SCALES,
    KernelType,
    MapType,
    between_commas,
    check_target,
    data_argument,
    exclude_option,
    gap_options,
    reading_options,
    table_of,
)
from .destinations import check_destinations
from .output import check_pictures, check_writable, for_machines, show_json, show_table, size, steps

if TYPE_CHECKING:
    from ..report.comparison import Comparison, Entry

WIDTHS = ",".join(map(str, COMPARED_WIDTHS))
HEADERS = ("map", "features", "kernel\nerror", "fit s", "predict\ns", "model")


@click.command("compare", cls=Command, short_help="Compare maps with each other and the exact kernel.")
@data_argument
@click.option("--target", help="The column to predict.")
@exclude_option
@click.option("--kernel", type=KernelType(), default=TABLE_KERNEL, show_default=True)
@click.option(
    "--maps", callback=between_commas, help="Maps, separated by commas; by default all that support the kernel."
)
@click.option(
    "--features", default=WIDTHS, show_default=True, callback=between_commas, help="Numbers of features to try."
)
@click.option("--task", type=click.Choice(["auto", "classification", "regression"]), default="auto", show_default=True)
@click.option("--scale", type=click.Choice(SCALES), default="auto")
@click.option("--loss", type=click.Choice(LOSSES), help="As in 'mercer fit'.")
@click.option("--C", "C", type=float, default=1.0, show_default=True)
@gap_options
@click.option("--rows", type=click.IntRange(1), default=5000, show_default=True, help="Training rows, approximately.")
@click.option(
    "--test-rows", type=click.IntRange(1), default=1000, show_default=True, help="Held-out rows, approximately."
)
@click.option(
    "--exact-rows", type=click.IntRange(1), default=2000, show_default=True, help="Training rows of the exact kernel."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@reading_options
@click.option("--plot", type=click.Path(dir_okay=False), help="Picture to write: .png, .svg or .pdf.")
@click.option("--html", type=click.Path(dir_okay=False), help="Page to write, with the table and the pictures.")
def command(data, target, kernel, maps, features, task, scale, memory, seed, plot, html, **options):
    """Compare every map that supports a kernel, at several widths, on rows drawn from DATA.

    For each map: the relative error of the kernel on held-out rows, the seconds to fit and to predict those rows, the
    size of the model, and the score. The exact kernel machine, trained on fewer rows, shows what can be achieved.

    \b
    Example:
      mercer compare houses.csv --target price --maps orthogonal_fourier,nystrom --features 16,32
    """
    from ..choose import task_of
    from ..report import compare

    check_destinations({"--plot": plot, "--html": html}, data, format=options["format"])
    for path, endings in ((plot, (".png", ".svg", ".pdf")), (html, ())):
        check_writable(path)
        check_pictures(path, endings)
    widths = [as_width(text) for text in features]
    names = None if maps is None else [MapType().convert(name, None, None) for name in maps]
    reading = {name: options.pop(name) for name in (*READING, "exclude")}
    drawn = {name: options.pop(name) for name in ("rows", "test_rows", "exact_rows")}
    options["scale"] = None if scale == "none" else scale
    with table_of(data, memory, target=target, **reading) as table:
        check_target(table, target)
        chosen = task_of(table, task).name
        given = {"kernel": kernel, "maps": names, "features": widths, "random_state": seed, **drawn, **options}
        with steps() as told:
            found = compare(table, chosen, progress=told, **given)
    write_pictures(found, plot, html)
    if for_machines():
        show_json({**found._asdict(), "entries": [entry._asdict() for entry in found.entries]})
    else:
        rows = max((one.rows for one in found.entries[1:]), default=0)
        title = f"{found.kernel}: {rows:,} training rows, {found.test_rows:,} held out"
        show_table((*HEADERS, found.score, "95 % interval"), [row_of(one) for one in found.entries], title)
        for path in (plot, html):
            if path is not None:
                click.echo(path)


def as_width(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise click.BadParameter(f"expected integers separated by commas, found {text!r}", param_hint="--features")
    return int(text)


def row_of(entry: Entry) -> tuple[Any, ...]:
    """Return an entry to be read in 80 columns: errors with two digits, times to the millisecond."""
    from ..report.comparison import EXACT

    name = f"exact, {entry.rows:,} rows" if entry.map == EXACT else entry.map
    times = [
        float(f"{value:.3f}" if value < 10 else f"{value:.3g}") for value in (entry.fit_seconds, entry.predict_seconds)
    ]
    between = "-" if entry.low != entry.low else f"{entry.low:.3f} to {entry.high:.3f}"
    return (name, entry.features, float(f"{entry.error:.2g}"), *times, size(entry.bytes), entry.score, between)


def write_pictures(found: Comparison, plot: str | None, html: str | None) -> None:
    """Write the picture and the page, if requested."""
    from ..persist import atomic_write
    from ..report import comparison_figure, comparison_page

    if plot is not None:
        with atomic_write(plot) as file:
            comparison_figure(found).savefig(file, format=plot.rpartition(".")[2].lower(), dpi=150)
    if html is not None:
        with atomic_write(html) as file:
            file.write(comparison_page(found).encode())
