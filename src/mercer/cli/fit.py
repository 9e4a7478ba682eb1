"""``mercer fit``: from rows with a target to a model file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .._defaults import TABLE_KERNEL
from .command import Command, telling_what_is_left
from .data_options import (
    LOSSES,
    READING,
    SCALES,
    KernelType,
    MapType,
    check_loss,
    check_target,
    class_weight_option,
    data_argument,
    note_unknown,
    reading_options,
    table_of,
    target_options,
)
from .destinations import check_destinations, files_of_run
from .output import (
    as_assessed,
    check_pictures,
    check_writable,
    for_machines,
    progress,
    say,
    show_assessed,
    show_concerns,
    show_json,
    show_table,
    size,
    steps,
)

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ..choose import AutoMap
    from ..choose.learner_choice import Task
    from ..data import SourceTable
    from ..report.assessment import Assessment
    from ..report.plan import Plan

STREAMED = "features do not fit and are computed again in every pass; raise --memory to avoid this"


@click.command("fit", cls=Command, short_help="Train a model, score it, and write it to a file.")
@data_argument
@target_options
@click.option(
    "--kernel", type=KernelType(open=True), default="auto", show_default=True,
    help="auto: kernels and bandwidths are tried on some of the rows.",
)  # fmt: skip
@click.option(
    "--map", type=MapType(exact=True), default="auto", show_default=True,
    help="A map listed by 'mercer maps'; or exact, for the exact kernel machine, if its matrix fits in memory.",
)  # fmt: skip
@click.option("--features", type=click.IntRange(1), help="Number of features; by default chosen from the rows.")
@click.option(
    "--column-scales", type=click.Choice(["auto", "learned", "none"]), default="auto", show_default=True,
    help="Learn one scale per column (learned) or not (none); auto keeps them if they lower the held-out error.",
)  # fmt: skip
@click.option(
    "--target-error", type=click.FloatRange(0, min_open=True),
    help="Choose the map and the number of features so that the relative error of the kernel matrix is below this "
    "value, which is verified on fresh rows.",
)  # fmt: skip
@click.option(
    "--time-budget", type=click.FloatRange(0, min_open=True),
    help="Choose the map and the number of features so that the fit takes about this many seconds at most on one "
    "thread; the time is estimated by counting operations.",
)  # fmt: skip
@click.option(
    "--scale", type=click.Choice(SCALES), default="auto", show_default=True,
    help="auto: chosen from the rows; none if the kernel is given with its bandwidth.",
)  # fmt: skip
@click.option(
    "--loss", type=click.Choice(LOSSES), help="By default squared_hinge for classifiers and squared for regressors.",
)  # fmt: skip
@click.option(
    "--C", "C", default="auto", show_default=True,
    help="Penalty of a classifier: a number; or several separated by commas, auto, loo or holdout, to choose one.",
)  # fmt: skip
@class_weight_option
@click.option(
    "--alpha", default="auto", show_default=True,
    help="Penalty of a regressor: a number; or several separated by commas, auto, loo (leave-one-out), holdout, gcv or "
    "evidence, to choose one. gcv and evidence save a pass over the rows, require --loss squared, and can be misled by "
    "heavy tails.",
)  # fmt: skip
@click.option(
    "--delta",
    type=float,
    help="With --loss huber, larger errors count as outliers, in units of the target; estimated by default.",
)
@click.option(
    "--quantile", type=float, default=0.5, show_default=True, help="The quantile to predict with --loss quantile."
)
@click.option(
    "--epsilon",
    type=float,
    default=0.1,
    show_default=True,
    help="With --loss epsilon_insensitive, smaller errors do not count.",
)
@click.option("--deviations", is_flag=True, help="Make it possible to predict standard deviations with this model.")
@reading_options
@click.option("--device", help="GPU to train on, by its name in torch: cuda, cuda:1 and so on; the CPU by default.")
@click.option(
    "--dask", metavar="ADDRESS",
    help="Train on a Dask cluster: its address, tcp://..., or local:2 for two processes on this machine.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@click.option("--checkpoint", type=click.Path(dir_okay=False), help="Checkpoint file; next to the model by default.")
@click.option("--every", type=click.FloatRange(0), default=60.0, show_default=True, help="Seconds between checkpoints.")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint of a run that was stopped.")
@click.option("--report", type=click.Path(dir_okay=False), help="Web page (.html) about the model to write.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Model file to write.")
def command(data, target, weight, columns, task, holdout, memory, dask, seed, report, dry_run, output, **options):
    """Train a model on the rows of DATA, score it on held-out rows, and write it to a file.

    You only need --target and -o: everything else is chosen from the rows. Text columns, dates and missing values need
    no preparation; leave out columns of identifiers with --exclude. The model in the file is the one that was scored:
    it is not trained again on the held-out rows.

    \b
    Examples:
      mercer fit houses.csv --target price --report houses.html -o houses.mercer
      mercer fit flowers.csv --target kind --loss logistic --features 512 -o flowers.mercer
      mercer fit flowers.csv --target kind --target-error 0.05 -o flowers.mercer
    """
    from time import perf_counter

    from ..choose import learner_for
    from ..learn.passes.progress_bar import fit_line
    from ..persist import train
    from ..report import assess, check_scorable, plan

    if output is None and not dry_run:
        raise click.UsageError("name the model file with -o MODEL, or use --dry-run to see what would be done")
    check_destinations(
        {**files_of_run(output, options["checkpoint"]), "--report": report}, data, format=options["format"]
    )
    for path in (output, report) if not dry_run else ():
        check_writable(path)
    check_pictures(report)
    choose_map(options, seed)
    reading = {name: options.pop(name) for name in (*READING, "exclude")}
    going_on = {name: options.pop(name) for name in ("checkpoint", "every", "resume")}
    with table_of(data, memory, target=target, weight=weight, columns=columns, **reading) as table:
        chosen, rows, test = task_and_parts(table, target, task, options["loss"], holdout, seed)
        learner = learner_for(chosen.name, memory=features_share(memory), random_state=seed, **arguments(options))
        found = plan(learner, rows)
        if dry_run:
            return show_plan(found, chosen)
        if test is not None:
            check_scorable(learner, test)
        say(f"{chosen.name}: {chosen.why}; {found.rows:,} rows, {found.columns:,} columns, {found.map}")
        begun = perf_counter()
        with telling_what_is_left(), on_cluster(dask, rows) as spread, progress() as told:
            model = train(learner, spread, output=output, progress=told, **going_on)
        fitted = perf_counter()
        if told is not None and told.last is not None:
            say(fit_line(model, told.last))
        if test is not None:
            say(f"scoring {test.n_rows:,} held-out rows")
        with steps() as tell:
            assessed = assess(model, rows, test, trained=report is not None, random_state=seed, progress=tell)
        note_unknown(assessed.unknown)
        times = fitted - begun, perf_counter() - fitted
        show(model, chosen, found, assessed, output)
        show_concerns(assessed.concerns)
        if report is not None:
            write_page(report, output, model, rows, test, assessed, times)


@contextmanager
def on_cluster(address: str | None, rows: Any) -> Iterator[Any]:
    """Provide rows as workers of a cluster read them, or unchanged if no cluster is named."""
    if address is None:
        yield rows
        return
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise click.UsageError("--dask needs Dask: pip install 'mercer[dask]'") from error
    from ..scale.local import connected, files_on

    with connected(address) as client:
        count = len(client.ncores())
        say(f"{count} {'worker' if count == 1 else 'workers'}; dashboard: {client.dashboard_link}")
        yield files_on(client, rows)


def choose_map(options: dict[str, Any], seed: int) -> None:
    """Let a target error or a time budget choose the map in place of --map and --features."""
    target, seconds = options.pop("target_error"), options.pop("time_budget")
    if target is None and seconds is None:
        return
    if options["map"] != "auto":
        raise click.UsageError("--target-error and --time-budget choose the map: do not give --map as well")
    from ..choose import AutoMap
    from ..kernels import parse

    kernel = parse(TABLE_KERNEL) if options["kernel"] == "auto" else options["kernel"]
    options["map"] = AutoMap(
        kernel, n_components=options["features"], target_error=target, time_budget=seconds, random_state=seed
    )


def chosen_by(model: BaseEstimator) -> AutoMap | None:
    """Return the AutoMap of a model, or None if it has another map."""
    from ..choose import AutoMap

    return model.map_ if isinstance(model.map_, AutoMap) else None


def arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as arguments of the library."""
    scale, alpha = options.pop("scale"), options.pop("alpha")
    return {
        "n_components": options.pop("features"),
        "columns": None if (learned := options.pop("column_scales")) == "none" else learned,
        "scale": None if scale == "none" else scale,
        "alpha": as_penalty(alpha, "--alpha"),
        "C": as_penalty(options.pop("C"), "--C"),
        **options,
    }


def features_share(memory: str | None) -> int | None:
    """Return the memory for features beside rows; None without a limit, so that model files do not record one."""
    from .._memory import as_bytes

    return None if memory is None else max(1, as_bytes(memory) // 2)


def as_penalty(text: str, name: str) -> float | list[float] | str:
    """Return a number, several numbers that commas separate, or the rule that chooses one."""
    if text in ("auto", "gcv", "loo", "holdout", "evidence"):
        return text
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        said = f"expected a number, several separated by commas, auto, loo, holdout, gcv or evidence, found {text!r}"
        raise click.BadParameter(said, param_hint=name) from None
    return found if len(found) > 1 else found[0]


def task_and_parts(
    table: SourceTable, target: str | None, task: str, loss: str | None, holdout: float, seed: int
) -> tuple[Task, SourceTable, SourceTable | None]:
    """Return the task of rows, those to train on, and those that are held out; refuse arguments that do not suit."""
    from ..choose import task_of

    check_target(table, target)
    chosen = task_of(table, task)
    check_loss(loss, chosen)
    train, test = table.split(test=holdout, seed=seed) if holdout else (table, None)
    if train.n_rows == 0 or (test is not None and test.n_rows == 0):
        raise ValueError(f"--holdout {holdout:g} leaves no rows to train on or none to score: give another share, or 0")
    return chosen, train, test


def write_page(
    path: str,
    title: str,
    model: BaseEstimator,
    train: SourceTable,
    test: SourceTable | None,
    assessed: Assessment,
    times: tuple[float, float],
    sections: tuple[str, ...] = (),
) -> None:
    """Write the page about the model."""
    import platform
    from pathlib import Path
    from time import perf_counter

    from .._memory import peak_memory
    from ..persist import atomic_write
    from ..persist.model_files import versions
    from ..report import Origin, Usage, study, training_page

    ctx, peak, started = click.get_current_context(), peak_memory(), perf_counter()
    seed = ctx.params["seed"]
    with steps() as tell:
        studied = None if test is None else study(model, train, test, random_state=seed, progress=tell)
    usage = Usage(*times, perf_counter() - started, peak, Path(title).stat().st_size)
    options = {param.opts[-1]: ctx.params[str(param.name)] for param in ctx.command.params if param.name in ctx.params}
    origin = Origin(ctx.meta["typed"], options, {"Python": platform.python_version(), **versions()})
    page = training_page(
        title,
        model,
        train,
        test,
        scores=assessed.scores,
        studied=studied,
        usage=usage,
        origin=origin,
        sections=sections,
        baselines=assessed.baselines,
        concerns=assessed.concerns,
        interval=assessed.interval,
        importances=assessed.importances,
    )
    with atomic_write(path) as file:
        file.write(page.encode())
    if not for_machines():
        click.echo(f"{path}: the report on the model")


def width_in_words(map: str, width: int, most: str = "") -> str:
    """Describe the width of a map; an exact machine has rows in place of features."""
    return f"{most}{width:,} rows with a coefficient" if map == "exact" else f"{width:,} features"


def show_plan(found: Plan, chosen: Task) -> None:
    """Show what would be done."""
    held = f"at least {size(found.held)}, plus the map and a few blocks of rows"
    what = {
        "task": f"{chosen.name}: {chosen.why}",
        "learner": found.learner,
        "training rows": found.rows,
        "columns": found.columns,
        "columns of levels": ", ".join(found.levels) or "none",
        "kernel": repr(found.kernel),
        "map": f"{found.map}, {width_in_words(found.map, found.width, 'up to ')}",
        "memory": f"{held}; {STREAMED}" if found.streamed else held,
    }
    if for_machines():
        return show_json({**found._asdict(), "task": chosen.name, "why": chosen.why})
    show_table(
        ("what", "found"), [(name, f"{value:,}" if isinstance(value, int) else value) for name, value in what.items()]
    )


def show(model: BaseEstimator, chosen: Task, found: Plan, assessed: Assessment, output: str) -> None:
    """Show what was done."""
    from pathlib import Path

    written, auto = Path(output).stat().st_size, chosen_by(model)
    if for_machines():
        return show_json(
            {
                "model": output,
                "bytes": written,
                "task": chosen.name,
                "rows": found.rows,
                "held_out": assessed.held_out,
                "unknown_rows": assessed.unknown.rows,
                "columns": found.columns,
                "map": found.map if found.map == "exact" else type(model.map_ if auto is None else auto.map_).__name__,
                "kernel": repr(model.map_.kernel_),
                "features": model.map_.n_components_,
                "alpha": getattr(model, "alpha_", None),
                "C": getattr(model, "C_", None),
                **({} if auto is None else {"kernel_error": None if auto.error_ is None else auto.error_._asdict()}),
                **as_assessed(assessed),
            }
        )
    show_assessed(assessed, model)
    if auto is not None and auto.error_ is not None:
        how = f"on {auto.pilot_.fresh_rows:,} fresh rows" if auto.target_error is not None else "in a pilot"
        click.echo(f"{type(auto.map_).__name__} was chosen; relative error of the kernel matrix {how}: {auto.error_}")
    click.echo(f"{output}: {found.learner}, {width_in_words(found.map, model.map_.n_components_)}, {size(written)}")
