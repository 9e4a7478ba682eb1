"""The part of a page that shows what a search has tried."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

from ..choose import Tuned
from .page import folded, paragraph, section, table

FIT = "fit"
"""The measure of trials that are fits of the model, which have no score of their own."""


def trials_section(found: Tuned) -> str:
    """Return what a search has tried, the best of every round first, and the fits of its model, as HTML.

    Parameters
    ----------
    found : Tuned
        The result of ``run`` of a search.

    Returns
    -------
    str
        The section as HTML.

    Examples
    --------
    >>> import mercer
    >>> mercer.report.trials_section(mercer.choose.Tuned(None, [], [], ["no time for more"]))
    '<section><h2>What was tried</h2><p>no time for more</p></section>'
    """
    rounds = groupby(found.in_order(), key=lambda one: (one.round, one.measure))
    shown = [_round(list(trials)) for _, trials in rounds]
    return section("What was tried", *map(paragraph, found.notes), *shown)


def _round(trials: Sequence[Any]) -> str:
    """Return one table; what all its trials have in common is above it, so that no column repeats it."""
    first = trials[0]
    if first.measure == FIT:
        headers = ("kernel", "scale", "loss", "alpha or C", "features", "seconds")
        rows = [(one.kernel, one.scaling, one.loss, one.regularisation, one.features, one.seconds) for one in trials]
        return f"<h3>{escape(f'Fits of the model to {first.rows:,} rows')}</h3>{table(headers, rows)}"
    if first.is_held_out:
        listed = folded(
            ("kernel", "scale", "loss", "alpha or C", "features", first.measure, "seconds"),
            [
                (one.kernel, one.scaling, one.loss, one.regularisation, one.features, one.score, one.seconds)
                for one in trials
            ],
            "trials",
        )
        return f"<h3>{escape(f'Round {first.round}: {first.rows:,} rows')}</h3>{listed}"
    shape = f"{first.rows:,} rows, {first.features:,} features"
    if first.round is None:
        cells = [(one.loss, one.kernel, one.regularisation, one.score, one.seconds) for one in trials]
        listed = folded(("loss", "kernel", "alpha or C", first.measure, "seconds"), cells, "trials")
        return f"<h3>{escape(f'Losses, scored on rows kept apart: {shape}')}</h3>{listed}"
    cells = [(one.kernel, one.scaling, one.regularisation, one.score, one.seconds) for one in trials]
    listed = folded(("kernel", "scale", "alpha", first.measure, "seconds"), cells, "trials")
    return f"<h3>{escape(f'Round {first.round}: {first.loss} loss, {shape}')}</h3>{listed}"
