"""Levels in held-out rows that a model has not learned: how many rows have some, and scores without them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..data import Table
from ..data.frames import columns
from ..learn.machine import KernelMachine
from ..learn.prepare.preparation import Preparation


class UnknownLevels(NamedTuple):
    """Rows with levels that a model has not learned.

    Attributes
    ----------
    rows : int
        The number of rows with such a level in any column.
    of : int
        The number of all rows.
    columns : dict of str to int
        The number of rows with such a level in each column that has some.
    """

    rows: int
    of: int
    columns: dict[str, int]

    @property
    def sentence(self) -> str:
        """A description of these rows; empty if there are none."""
        if self.rows == 0:
            return ""
        each = ", ".join(f"column {name!r}: {count:,}" for name, count in self.columns.items())
        return (
            f"{self.rows:,} of {self.of:,} rows have levels that were not in the training rows ({each}); such a level "
            "counts as no level at all, or as rare if rare levels share a column"
        )


def unknown_levels(model: BaseEstimator, table: Table) -> UnknownLevels:
    """Count the rows of a table with levels that a fitted learner has not learned.

    This takes one pass over the rows, and none if the model has no columns of levels.

    Parameters
    ----------
    model : KernelMachine
        The fitted learner.
    table : Table
        The rows.

    Returns
    -------
    UnknownLevels
        The number of such rows, in total and in each column.

    Examples
    --------
    >>> import pandas as pd
    >>> import mercer
    >>> X = pd.DataFrame({"town": ["Oslo", "Rome"] * 20, "age": range(40)})
    >>> model = mercer.KernelRegressor(n_components=16, random_state=0).fit(X, X["age"])
    >>> found = mercer.report.unknown_levels(model, mercer.data.open(X.replace("Rome", "Lima")))
    >>> found.rows, found.columns
    (20, {'town': 20})
    """
    if not isinstance(model, KernelMachine):
        raise TypeError(f"expected a learner of mercer.learn, found {type(model).__name__}")
    check_is_fitted(model)
    prepared = model.preparation_
    if prepared.levelled is None:
        return UnknownLevels(0, table.n_rows, {})
    counter = UnknownCounter(prepared)
    for block in model.matched_table(table.features()).blocks():
        counter.update(block.X)
    return counter.found


class UnknownCounter:
    """Counts rows with unknown levels, block by block.

    Parameters
    ----------
    preparation : Preparation
        What was learned about the columns.
    """

    def __init__(self, preparation: Preparation):
        self._preparation = preparation
        self._levelled = [column for column in preparation.columns or () if column.levels is not None]
        self.found = UnknownLevels(0, 0, {})

    def update(self, X: Any) -> None:
        """Count the rows of another block."""
        wrong, each = np.zeros(X.shape[0], dtype=bool), dict(self.found.columns)
        for column in self._levelled:
            unseen = self._preparation.is_unseen(column, columns(X)[column.name])
            wrong |= unseen
            if unseen.any():
                each[column.name] = each.get(column.name, 0) + int(np.count_nonzero(unseen))
        self.found = UnknownLevels(self.found.rows + int(np.count_nonzero(wrong)), self.found.of + len(wrong), each)


def treating_unknown(model: BaseEstimator, unknown: str = "ignore") -> BaseEstimator:
    """Return a copy of a fitted learner that ignores levels that it has not learned, or raises an error about them."""
    return model if model.preparation_.levelled is None else model.treating_unknown(unknown)
