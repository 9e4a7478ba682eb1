"""Rows with targets that conformal predictors split by row numbers: in memory, or in partitions on a cluster."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from ..._array import is_foreign, to_numpy
from ...data import PartitionedTable, Table
from ...data.block import concatenated, part_of, stacked
from ...data.frames import is_frame
from ...scale import is_collection, table_of
from ..argument_types import WeightArgument

Numbers = NDArray[np.integer[Any]]


class SplittableRows(Protocol):
    """Rows with their targets and weights."""

    targets: NDArray[Any]
    weight: NDArray[np.float64] | None

    def fit(self, estimator: BaseEstimator, numbers: Numbers | None = None, **named: Any) -> None:
        """Fit an estimator to the rows with these numbers, or to all."""
        ...

    def rows(self, numbers: Numbers) -> Any:
        """Return the rows with these increasing numbers, in memory."""
        ...


class RowsHere:
    """Rows in memory.

    Parameters
    ----------
    X : matrix or data frame
        The rows.
    y : array-like of shape (n_samples,)
        The targets.
    weight : array-like of shape (n_samples,) or None
        The weights.
    """

    def __init__(self, X: Any, y: Any, weight: WeightArgument):
        self._X, self.targets = rows_in_memory(X), column_or_1d(to_numpy(y), warn=True)
        self.weight = None
        if weight is not None:
            self.weight = _check_sample_weight(
                to_numpy(weight), self.targets, dtype=np.float64, ensure_non_negative=True
            )

    def fit(self, estimator: BaseEstimator, numbers: Numbers | None = None, **named: Any) -> None:
        """Fit an estimator to the rows with these numbers, or to all."""
        X, y, weight = self._X, self.targets, self.weight
        if numbers is not None:
            X, y, weight = part_of(X, numbers), y[numbers], None if weight is None else weight[numbers]
        estimator.fit(X, y, weight, **named)

    def rows(self, numbers: Numbers) -> Any:
        """Return the rows with these increasing numbers."""
        return part_of(self._X, numbers)


class RowsOnCluster:
    """Rows in the partitions of a Dask collection, of which only targets and weights come here.

    Parameters
    ----------
    table : PartitionedTable
        The rows, without those of weight 0.
    """

    def __init__(self, table: PartitionedTable):
        self._table = table
        known = concatenated(list(table.targets()))
        self.targets, self.weight = column_or_1d(known.y, warn=True), known.weight

    def fit(self, estimator: BaseEstimator, numbers: Numbers | None = None, **named: Any) -> None:
        """Fit an estimator to the rows with these numbers, or to all."""
        estimator.fit(
            self._table if numbers is None else self._table.selected(numbers.astype(np.int64, copy=False)), **named
        )

    def rows(self, numbers: Numbers) -> Any:
        """Return the rows with these increasing numbers."""
        return stacked(self._table.take(numbers.astype(np.int64, copy=False)))


def splittable(X: Any, y: Any, weight: WeightArgument) -> SplittableRows:
    """Return rows with their targets and weights, which can be split."""
    return RowsOnCluster(table_of(X, y, weight)) if is_collection(X) else RowsHere(X, y, weight)


def rows_in_memory(X: Any) -> Any:
    """Return rows from which some can be selected by number; a table is refused."""
    if isinstance(X, Table):
        raise TypeError("rows are selected by number: expected a matrix or a data frame in memory, found a table")
    if is_frame(X):
        return X
    if sp.issparse(X):
        return X.tocsr()
    return to_numpy(X) if is_foreign(X) else np.asarray(X)


def check_splittable(estimator: BaseEstimator) -> None:
    """Refuse an estimator that expects a square kernel matrix, whose columns would have to be split too."""
    if estimator.__sklearn_tags__().input_tags.pairwise:
        raise ValueError("rows of kernel='precomputed' cannot be set aside or left out: give the kernel and the rows")
