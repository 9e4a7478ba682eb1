"""Rows that conformal predictors can split."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._array import is_foreign, to_numpy
from ...data import Table
from ...data.frames import is_frame


def rows_in_memory(X: Any) -> Any:
    """Return rows from which some can be selected by number; a table is refused."""
    if isinstance(X, Table):
        raise TypeError("rows are selected by number: expected a matrix or a data frame in memory, found a table")
    if is_frame(X):
        return X
    if sp.issparse(X):
        return X.tocsr()
    return to_numpy(X) if is_foreign(X) else np.asarray(X)


def check_splittable(estimator: Any) -> None:
    """Refuse an estimator that expects a square kernel matrix, whose columns would have to be split too."""
    if estimator.__sklearn_tags__().input_tags.pairwise:
        raise ValueError("rows of kernel='precomputed' cannot be set aside or left out: give the kernel and the rows")
