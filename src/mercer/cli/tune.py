"""``mercer tune``: the best model that a search finds in the available time."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from .._defaults import SEARCH_SECONDS, WIDEST_SEARCHED
from .._figures import seconds as in_words
from .command import Command
from .data_options import (
    READING,
    KernelType,
    MapType,
    class_weight_option,
    data_argument,
    note_unknown,
    reading_options,
    table_of,
    target_options,
)
from .destinations import check_destinations
from .escaping import printable
from .fit import features_share, task_and_parts, write_page
from .output import (
    as_assessed,
    check_pictures,
    check_writable,
    for_machines,
    say,
    search_progress,
    show_assessed,
    show_concerns,
    show_json,
    show_table,
    size,
    steps,
)

if TYPE_CHECKING:
    from ..choose.learner_choice import Task
    from ..choose.pilot_search import PilotSearch
    from ..choose.search import Search, Tuned
    from ..data import SourceTable
    from ..report.assessment import Assessment

MINUTES = SEARCH_SECONDS / 60.0


@click.command("tune", cls=Command, short_help="Search for the best model, score it, and write it to a file.")
@data_argument
@target_options
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help=f"Total time; {MINUTES:g} without --rounds.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds of the search; alone, it means no time limit.")
@click.option(
    "--kernel", "kernels", type=KernelType(), multiple=True,
    help="Kernel to try; repeat the option for several. A bandwidth 'median' is searched.",
)  # fmt: skip
@click.option("--map", type=MapType(), default="auto", show_default=True, help="A map from 'mercer maps'.")
@click.option(
    "--features",
    type=click.IntRange(1),
    default=WIDEST_SEARCHED,
    show_default=True,
    help="Largest number of features of the final map.",
)
@click.option(
    "--scale", type=click.Choice(["auto", "standard", "unit", "minmax", "none"]), default="auto", show_default=True,
    help="auto: chosen by the pilot; with --kernel, standard and minmax, and none for kernels without negative values.",
)  # fmt: skip
@click.option(
    "--loss", type=click.Choice(["auto", "squared_hinge", "logistic", "squared"]), default="auto", show_default=True,
    help="For classifiers. auto: all are tried; with --kernel, squared, and finally squared_hinge if that is better.",
)  # fmt: skip
@class_weight_option
@click.option(
    "--precision", type=click.Choice(["float32", "float64"]), default="float32", show_default=True,
    help="Precision of the rows and of everything computed from them.",
)  # fmt: skip
@reading_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@click.option("--report", type=click.Path(dir_okay=False), help="Web page (.html) about the model to write.")
@click.option("--dry-run", is_flag=True, help="Only show what would be tried.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Model file to write.")
def command(data, target, weight, columns, task, holdout, memory, seed, report, dry_run, output, precision, **options):
    """Search for the best model for DATA in the available time, and write it to a file.

    The search starts from the choice of 'fit' and changes kernel, bandwidth, scales of columns, penalty, loss and
    number of features, keeping the changes that help on rows set aside for this purpose. With --kernel, many bandwidths
    are tried on few rows and the best of them on more. The model is fitted to all rows except the held-out ones, which
    score it. Equal --rounds and --seed make the same choices; a time limit may cut the rounds short, and the command
    then says what was left out.

    \b
    Examples:
      mercer tune houses.csv --target price --minutes 10 --dry-run
      mercer tune flowers.csv --target kind --rounds 1 --features 64 --kernel "laplacian('median')" -o flowers.mercer
    """
    began = perf_counter()
    from ..choose import search_for
    from ..persist import save
    from ..report import assess, check_scorable, trials_section

    if output is None and not dry_run:
        raise click.UsageError("name the model file with -o MODEL, or use --dry-run to see what would be done")
    check_destinations({"-o": output, "--report": report}, data, format=options["format"])
    for path in (output, report) if not dry_run else ():
        check_writable(path)
    check_pictures(report)
    reading = {name: options.pop(name) for name in (*READING, "exclude")}
    minutes = options.pop("minutes") or (None if options["rounds"] else MINUTES)
    with table_of(data, memory, target=target, weight=weight, columns=columns, dtype=precision, **reading) as table:
        chosen, rows, test = task_and_parts(table, target, task, options["loss"], holdout, seed)
        left = None if minutes is None else max(1.0, 60.0 * minutes - (perf_counter() - began))
        say(f"{chosen.name}: {chosen.why}; {rows.n_rows:,} rows, {rows.width:,} columns")
        with search_progress() as told:
            search = search_for(
                rows,
                chosen.name,
                memory=features_share(memory),
                random_state=seed,
                seconds=left,
                progress=told,
                ending=ending_of(0 if test is None else test.n_rows, rows.width, report is not None),
                **arguments(options),
            )
            if dry_run:
                return show_plan(search, chosen, rows, minutes)
            if test is not None:
                check_scorable(search, test)
            told.watch(search)
            found = search.run()
        searched = perf_counter()
        say(f"searched for {in_words(searched - began)}: {len(found.trials)} trials and {len(found.fits)} fits")
        save(found.model, output)
        with steps() as tell:
            assessed = assess(found.model, rows, test, trained=report is not None, random_state=seed, progress=tell)
        note_unknown(assessed.unknown)
        times = searched - began, perf_counter() - searched
        show(found, chosen, assessed, output, perf_counter() - began)
        show_concerns(assessed.concerns)
        if report is not None:
            write_page(report, output, found.model, rows, test, assessed, times, (trials_section(found),))


def ending_of(test_rows: int, columns: int, page: bool) -> Any:
    """Return the time that scores and the page will take, as a function of a fit."""
    from ..report.time_estimates import page_seconds, scoring_seconds

    def seconds(fit: Any) -> float:
        if not test_rows:
            return 5.0 if page else 0.0
        return scoring_seconds(fit, test_rows) + (page_seconds(fit, test_rows, columns) if page else 0.0)

    return seconds


def arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as arguments of the library."""
    scale, kernels = options.pop("scale"), options.pop("kernels")
    given = {name: value for name, value in options.items() if value is not None}
    return {**given, "scale": None if scale == "none" else scale, "kernels": kernels or None}


def show_plan(search: Search | PilotSearch, chosen: Task, rows: SourceTable, minutes: float | None) -> None:
    """Show what would be tried if there is enough time."""
    rounds = search.plan()
    if for_machines():
        facts = {"task": chosen.name, "why": chosen.why, "rows": rows.n_rows, "columns": rows.width, "minutes": minutes}
        kernels = [repr(kernel) for kernel in search.kernels]
        last = {"kernels": kernels, "rounds": [one._asdict() for one in rounds], "features": search.features}
        return show_json({**facts, **last})
    first = ", ".join(map(repr, search.kernels)) or "the default learner, then changes to it"
    click.echo(printable(f"{chosen.name}: {chosen.why}; {first}"))
    show_table(("round", "rows", "features at most", "trials"), rounds)
    time = "without a time limit" if minutes is None else f"at most {minutes:g} minutes"
    click.echo(f"then a fit to {rows.n_rows:,} rows with at most {search.features:,} features; {time}")


def show(found: Tuned, chosen: Task, assessed: Assessment, output: str, seconds: float) -> None:
    """Show what was tried, and the result."""
    from pathlib import Path

    model, last, written = found.model, found.fits[-1], Path(output).stat().st_size
    if for_machines():
        return show_json(
            {
                "model": output,
                "bytes": written,
                "task": chosen.name,
                "rows": last.rows,
                "held_out": assessed.held_out,
                "unknown_rows": assessed.unknown.rows,
                "map": type(model.map_).__name__,
                "kernel": last.kernel,
                "scale": last.scale,
                "features": last.features,
                "loss": last.loss,
                "regularisation": last.regularisation,
                "seconds": seconds,
                "notes": found.notes,
                "trials": [trial._asdict() for trial in found.trials],
                "fits": [fit._asdict() for fit in found.fits],
                **as_assessed(assessed),
            }
        )
    show_trials(found)
    for note in found.notes:
        click.echo(printable(note))
    show_assessed(assessed, model)
    what = f"{type(model).__name__}, {last.kernel}, {model.map_.n_components_:,} features"
    click.echo(f"{output}: {what}, {size(written)}, {seconds:.1f} s")


def show_trials(found: Tuned) -> None:
    """Print a table for every round."""
    from itertools import groupby

    for (number, measure), trials in groupby(found.in_order(), key=lambda one: (one.round, one.measure)):
        rows = list(trials)
        held_out = rows[0].is_held_out
        shape = f"{rows[0].rows:,} rows"
        if measure != "fit" and not held_out:
            shape += f", {rows[0].features:,} features"
        if held_out:
            title = f"round {number}: {shape}"
        elif number is not None:
            title = f"round {number}: {rows[0].loss}, {shape}"
        else:
            title = f"final fits: {shape}" if measure == "fit" else f"losses, scored on rows set aside: {shape}"
        strength = "alpha" if number is not None and not held_out else "alpha or C"
        headers = ["kernel", "scale", "loss", strength, "features", measure, "s"]
        cells = [
            [one.kernel, one.scaling, one.loss, one.regularisation, one.features, one.score, one.seconds]
            for one in rows
        ]
        absent = (5,) if measure == "fit" else (2,) if number is not None and not held_out else ()
        for place in absent:  # columns that are the same in all rows, or empty
            for line in (headers, *cells):
                del line[place]
        show_table(headers, cells, title)
