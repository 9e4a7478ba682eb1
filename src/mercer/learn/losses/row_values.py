"""Values of all rows, one column per class or target: NumPy arrays, or tensors if the features are on a device.

Solvers keep coefficients in NumPy arrays. Decision values and slopes, which have one number per row, stay where the
features are; only sums over rows are moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._array import is_foreign, namespace, send, to_numpy

Values = Any
"""A NumPy array or a tensor."""
Sums = NDArray[np.float64]

FEW_ROWS = 0.75
"""If a smaller share of rows counts, a pass processes only these; gathering more would cost as much as processing all.
"""


def beside(F: Values, array: NDArray[Any]) -> Values:
    """Return a NumPy array in the precision of F and in the same place."""
    return send(array, F) if is_foreign(F) else array.astype(F.dtype, copy=False)


def zeros_beside(F: Values) -> Values:
    """Return zeros like F."""
    return namespace(F).zeros_like(F)


def column_sums(terms: Values) -> Sums:
    """Return the sum of every column, in float64."""
    return np.asarray(to_numpy(namespace(terms).sum(terms, axis=0, dtype=namespace(terms).float64)))


def summed_products(A: Values, B: Values) -> Sums:
    """Return the sums over rows of products, in float64."""
    return column_sums(namespace(A).astype(A, namespace(A).float64) * B)


def weighted_sums(weight: Sums, terms: Values) -> Sums:
    """Return the weighted sum over rows of every column, in float64."""
    terms = namespace(terms).astype(terms, namespace(terms).float64, copy=False)
    return np.asarray(to_numpy(beside(terms, weight) @ terms))


def largest(F: Values) -> Sums:
    """Return the largest absolute value in every column."""
    found = to_numpy(namespace(F).max(namespace(F).abs(F), axis=0))
    return np.asarray(found, dtype=np.float64)


def is_finite(values: Values) -> bool:
    """Return whether all values are finite."""
    return bool(namespace(values).all(namespace(values).isfinite(values)))


def clipped(F: Values, low: Values, high: Values) -> Values:
    """Return values clipped to ``low`` and ``high``, each of which is None, a number, or one number per column."""
    if not is_foreign(F):
        return np.clip(F, low, high)
    low, high = (beside(F, end) if isinstance(end, np.ndarray) else end for end in (low, high))
    return F.clamp(min=low, max=high)


def nonzero_rows(values: Values) -> Any:
    """Return the rows that are not 0 in every column; None if there are none, or if a selection would save nothing."""
    rows = values.any(dim=1).nonzero()[:, 0] if is_foreign(values) else np.flatnonzero(values.any(axis=1))
    return rows if 0 < len(rows) < FEW_ROWS * len(values) else None
