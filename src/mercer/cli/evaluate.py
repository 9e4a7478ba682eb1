"""``mercer evaluate``: how good a model is on rows whose target is known."""

from __future__ import annotations

import click

from .command import Command
from .models import loaded, model_argument
from .output import as_dicts, for_machines, say, show_json, show_scores
from .rows import check_target, data_argument, note_unknown, reading_options, table_of


@click.command("evaluate", cls=Command, short_help="Score a model on rows whose target is known.")
@model_argument
@data_argument
@click.option("--target", help="The column with what is true.")
@click.option("--weight", help="A column with what each row counts.")
@click.option("--resamples", type=click.IntRange(0), default=200, show_default=True, help="Draws for the intervals.")
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@reading_options
def command(model, data, target, weight, resamples, level, seed, memory, **reading):
    """Score a model on the rows of DATA, which has the target.

    Accuracy, balanced accuracy, the area under the ROC curve and, with --loss logistic, the log loss of a classifier;
    R2, RMSE and MAE of a regressor; each with an interval from rows drawn with replacement.

    \b
    Example:
      mercer evaluate houses.mercer houses.csv --target price
    """
    from ..report import evaluate, unknown_levels

    fitted = loaded(model)
    with table_of(data, memory, target=target, weight=weight, **reading) as table:
        check_target(table, target)
        say(f"scoring {table.n_rows:,} rows")
        scores = evaluate(fitted, table, resamples=resamples, level=level, random_state=seed, unknown="ignore")
        strange = unknown_levels(fitted, table)
        note_unknown(strange)
        rows = table.n_rows
    if for_machines():
        show_json(
            {"model": model, "rows": rows, "unknown_rows": strange.rows, "level": level, "scores": as_dicts(scores)}
        )
    else:
        show_scores(scores, f"{model} on {rows:,} rows", level)
