"""A page about one model: what was learned, how good it is, and where it errs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Table
from ..learn import KernelClassifier
from .evaluation import check_predicts
from .page import page, table
from .pictures import as_svg, new_figure
from .plan import Plan
from .scores import Score

MOST_POINTS = 5000
MOST_CLASSES = 30


def training_page(
    title: str,
    model: Any,
    found: Plan,
    scores: Sequence[Score],
    test: Table | None = None,
    sections: Sequence[str] = (),
) -> str:
    """A page of HTML about a fitted model, which needs nothing beside itself.

    With rows that were held out: their scores, and for classes the table of what was taken for what, for numbers the
    picture of observed against predicted ones.

    Parameters
    ----------
    title : the first line
    model : a fitted KernelClassifier or KernelRegressor with one target
    found : what :func:`mercer.report.plan` told before the fit
    scores : those of :func:`mercer.report.evaluate`, or none
    test : Table with targets, or None
    sections : what is to follow, as HTML

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> table = mercer.data.open(np.random.default_rng(0).normal(size=(100, 3)), target=2)
    >>> model = mercer.choose.learner_for("regression", n_components=16, random_state=0)
    >>> found = mercer.report.plan(model, table)
    >>> mercer.report.training_page("A model", model.fit(table), found, []).splitlines()[0]
    '<!DOCTYPE html>'
    """
    check_predicts(model)
    facts = {
        "learner": found.learner,
        "rows": found.rows,
        "columns": found.columns,
        "kernel": repr(model.map_.kernel_),
        "map": type(model.map_).__name__,
        "features": model.map_.n_components_,
        "scale of columns": model.scale or "none",
        "alpha": getattr(model, "alpha_", None),
        "seed": model.map_.seed_,
    }
    parts = [table(("what", "value"), [(name, value) for name, value in facts.items() if value is not None])]
    if scores:
        parts.append(f"<h2>{'Rows that were held out' if test is not None else 'Scores'}</h2>")
        parts.append(table(("score", "value", "from", "to"), scores))
    if test is not None:
        parts.append(_classes(model, test) if isinstance(model, KernelClassifier) else _numbers(model, test))
    return page(title, *parts, *sections)


def _classes(model: KernelClassifier, test: Table) -> str:
    """What was taken for what, a row for every class that there is."""
    y, predicted, weight = model._observed(test, model.predict)
    labels = np.asarray(model.classes_).tolist()
    if len(labels) > MOST_CLASSES:
        return f"<p>{len(labels)} classes are too many for a table of what was taken for what.</p>"
    rows = [
        (str(label), *counts) for label, counts in zip(labels, confusion(y, predicted, weight, labels), strict=True)
    ]
    head = "<p>Rows are true classes, columns predicted ones.</p>"
    return head + table(("", *map(str, labels)), rows)


def confusion(y: NDArray[Any], predicted: NDArray[Any], weight: Any, labels: list[Any]) -> list[list[Any]]:
    """What the rows of a class (first) that were taken for another (second) count."""
    counted = np.ones(len(y)) if weight is None else weight
    both = [[float(counted[(y == true) & (predicted == told)].sum()) for told in labels] for true in labels]
    return [[int(one) if one.is_integer() else one for one in row] for row in both]


def _numbers(model: Any, test: Table) -> str:
    """Observed against predicted, the first rows where there are many."""
    y, predicted, _ = model._observed(test, model.predict)
    y, predicted = y[:MOST_POINTS], predicted[:MOST_POINTS]
    figure = new_figure(5.0, 5.0)
    axes = figure.subplots()
    axes.plot(predicted, y, ".", alpha=0.4)
    ends = [float(min(y.min(), predicted.min())), float(max(y.max(), predicted.max()))]
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.set(xlabel="predicted", ylabel="observed")
    axes.grid(alpha=0.3)
    return f"<p>{escape(f'{len(y):,} rows')}</p>{as_svg(figure)}"
