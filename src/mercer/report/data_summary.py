"""A description of the rows on which a model is trained."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..data import Table
from ..learn.statistics.column_summaries import Summary, joined


class ColumnSummary(NamedTuple):
    """A column of numbers; or one of text or truth values, if ``levels`` holds the frequency of each level."""

    name: str
    gaps: float
    mean: float
    deviation: float
    least: float
    most: float
    levels: dict[str, float] | None = None


class RowSummary(NamedTuple):
    """A summary of the training rows.

    Attributes
    ----------
    rows : int
        The number of rows.
    columns : list of ColumnSummary
        The columns.
    classes : dict of str to float, or None
        The frequency of every class; None for regressors.
    values : ndarray or None
        The targets of a regressor; None for classifiers.
    prepared : tuple of str
        The preparation of columns, in sentences.
    """

    rows: int
    columns: list[ColumnSummary]
    classes: dict[str, float] | None
    values: Any
    prepared: tuple[str, ...] = ()


def summary(model: BaseEstimator, table: Table) -> RowSummary:
    """Describe the rows of a table as a learner that was fitted to them sees them, in two passes.

    Parameters
    ----------
    model : KernelClassifier or KernelRegressor
        The fitted learner.
    table : Table
        The rows, with targets.

    Returns
    -------
    RowSummary
        The number of rows, the columns and the target.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> table = mercer.data.open(np.arange(30.0).reshape(10, 3), target=2)
    >>> model = mercer.KernelRegressor(n_components=4, random_state=0).fit(table)
    >>> found = mercer.report.summary(model, table)
    >>> found.rows, found.columns[1].mean, int(found.values.max())
    (10, 14.5, 29)
    """
    prepared, total = model.preparation_, None
    counted: dict[Any, float] = {}
    values = []
    for block in table.blocks():
        part = prepared.summary(block.X, block.weight)
        total = part if total is None else joined(total, part)
        y = np.asarray(block.y)
        weight = np.ones(len(y)) if block.weight is None else block.weight
        if hasattr(model, "classes_"):
            for label in np.unique(y).tolist():
                counted[label] = counted.get(label, 0.0) + float(weight[y == label].sum())
        else:
            values.append(y)
    assert total is not None
    classes = (
        {str(label): counted.get(label, 0.0) for label in np.asarray(model.classes_).tolist()} if counted else None
    )
    whole = float(total.weight.max()) if len(total.weight) else 0.0
    columns = _columns(prepared, table.names, total, whole)
    found = np.concatenate(values) if values else None
    return RowSummary(table.n_rows, columns, classes, found, prepared.describe())


def _columns(prepared: Any, names: Any, total: Summary, whole: float) -> list[ColumnSummary]:
    """Return the user's columns, in which the prepared columns of a column of levels are one again."""
    width = len(total.mean)
    kinds = (
        [(column.name, shown_levels(column), prepared.width_of(column)) for column in prepared.columns]
        if prepared.columns is not None
        else [(name, None, 1) for name in names or [f"column {number}" for number in range(width)]]
    )
    spread = np.where(total.weight > 0.0, total.spread, np.nan)
    found, place = [], 0
    for name, levels, taken in kinds:
        gaps = 1.0 - float(total.weight[place]) / whole if whole else 0.0
        mean, deviation, least, most = (float(one[place]) for one in (total.mean, spread, total.least, total.most))
        shares = None if levels is None else {str(one): float(total.mean[place + n]) for n, one in enumerate(levels)}
        found.append(ColumnSummary(str(name), gaps, mean, deviation, least, most, shares))
        place += taken
    return found


def shown_levels(column: Any) -> tuple[Any, ...] | None:
    """Return the levels of a column, with all rare ones as a single level."""
    if column.levels is None or not column.rare:
        return column.levels
    return (*column.levels, f"{len(column.rare):,} rare levels")
