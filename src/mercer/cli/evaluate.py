"""``mercer evaluate``: the scores of a model on rows whose target is known."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .command import Command
from .data_options import brings_labels, check_target, data_argument, note_unknown, reading_options, table_of
from .model_argument import loaded, model_argument
from .output import as_dicts, for_machines, say, shares_of, show_concerns, show_imbalance, show_json, show_scores

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@click.command("evaluate", cls=Command, short_help="Score a model on rows whose target is known.")
@model_argument
@data_argument
@click.option("--target", help="Column with the true values; by default the one of the fit.")
@click.option("--weight", help="Column with the weight of each row; by default the one of the fit; '' for none.")
@click.option(
    "--resamples",
    type=click.IntRange(0),
    default=200,
    show_default=True,
    help="Number of random samples for the intervals.",
)
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices.")
@reading_options
def command(model, data, target, weight, resamples, level, seed, memory, **reading):
    """Score a model on the rows of DATA, which must contain the target. Use rows on which it was not trained.

    A classifier has accuracy, balanced accuracy, the area under the ROC curve and, with --loss logistic, the log loss;
    a regressor has R2, RMSE and MAE. Each score has an interval from rows drawn with replacement. Scores on training
    rows are better than scores on new rows: 'mercer fit' scores the rows that it holds out.

    \b
    Examples:
      mercer evaluate houses.mercer new-houses.csv
      mercer evaluate flowers.mercer new-flowers.csv --target kind
    """
    from ..learn.training_rows.origin import has_seen
    from ..report import concerns, evaluate, imbalance, unknown_levels

    fitted = loaded(model)
    roles = roles_of(fitted, target, weight, brings_labels(data, reading["format"]))
    with remembered(roles, target, weight), table_of(data, memory, model=fitted, **roles, **reading) as table:
        check_target(table, roles["target"])
        seen = has_seen(fitted, table)
        if seen:
            warnings.warn(
                "the model may have been trained on these rows, since they contain the first rows of its fit; expect "
                "lower scores on new rows, like those that 'mercer fit' printed for the rows it held out",
                stacklevel=2,
            )
        say(f"scoring {table.n_rows:,} rows")
        scores = evaluate(fitted, table, resamples=resamples, level=level, random_state=seed, unknown="ignore")
        strange = unknown_levels(fitted, table)
        note_unknown(strange)
        rows, uneven = table.n_rows, imbalance(table) if hasattr(fitted, "classes_") else None
        worries = concerns(fitted, table, scores=scores)
    if for_machines():
        held = {
            "model": model,
            "rows": rows,
            "unknown_rows": strange.rows,
            "level": level,
            **roles,
            "seen_in_fit": seen,
        }
        told = {"imbalance": shares_of(uneven), "scores": as_dicts(scores), "warnings": [*map(str, worries)]}
        show_json({**held, **told})
    else:
        by = "" if roles["weight"] is None else f", weighted by {roles['weight']}"
        show_scores(scores, f"{model} on {rows:,} rows{by}", level)
        show_imbalance(uneven, getattr(fitted, "class_weight", None) is not None)
    show_concerns(worries)


def roles_of(model: BaseEstimator, target: str | None, weight: str | None, labelled: bool) -> dict[str, Any]:
    """Return the columns of targets and weights: the given ones, or otherwise the ones of the fit."""
    if target is None and not labelled:
        target = getattr(model, "target_name_", None)
    if weight is None and not labelled:
        weight = getattr(model, "weight_name_", None)
    return {"target": target, "weight": None if weight == "" else weight}


@contextmanager
def remembered(roles: dict[str, Any], target: str | None, weight: str | None) -> Iterator[None]:
    """If a column that was remembered from the fit is missing, say so, and how to name another."""
    from ..data.sources import MissingColumnError

    try:
        yield
    except MissingColumnError as error:
        if target is None and error.column == roles["target"]:
            hint = "give the column with the true values by --target"
            raise ValueError(f"{error}; {error.column!r} is what the model predicts: {hint}") from error
        if weight is None and error.column == roles["weight"]:
            hint = "give another by --weight, or none with --weight ''"
            raise ValueError(f"{error}; {error.column!r} contained the weights in the fit: {hint}") from error
        raise
