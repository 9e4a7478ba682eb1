"""Values of all rows, one column per class or target: NumPy arrays, or tensors where features are on a device.

Solvers keep what they know of coefficients in NumPy. Decision values and slopes have a number for every row, and stay
where the features are; only sums over rows leave it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._array import is_foreign, namespace, send, to_numpy

Values = Any
"""An array of NumPy, or a tensor."""
Sums = NDArray[np.float64]

FEW_ROWS = 0.75
"""The share of rows below which a pass takes only those that count: gathering them costs about as much as the rest."""


def beside(F: Values, array: NDArray[Any]) -> Values:
    """An array of NumPy in the precision of F, and where F is."""
    return send(array, F) if is_foreign(F) else array.astype(F.dtype, copy=False)


def zeros_beside(F: Values) -> Values:
    """Zeros like F."""
    return namespace(F).zeros_like(F)


def column_sums(terms: Values) -> Sums:
    """The sum of every column, in float64."""
    return np.asarray(to_numpy(namespace(terms).sum(terms, axis=0, dtype=namespace(terms).float64)))


def summed_products(A: Values, B: Values) -> Sums:
    """The sums over rows of products, in float64."""
    return column_sums(namespace(A).astype(A, namespace(A).float64) * B)


def weighted_sums(weight: Sums, terms: Values) -> Sums:
    """The weighted sum over rows of every column, in float64."""
    terms = namespace(terms).astype(terms, namespace(terms).float64, copy=False)
    return np.asarray(to_numpy(beside(terms, weight) @ terms))


def largest(F: Values) -> Sums:
    """The largest size in every column."""
    found = to_numpy(namespace(F).max(namespace(F).abs(F), axis=0))
    return np.asarray(found, dtype=np.float64)


def is_finite(values: Values) -> bool:
    """Whether no value is infinite or missing."""
    return bool(namespace(values).all(namespace(values).isfinite(values)))


def clipped(F: Values, low: Values, high: Values) -> Values:
    """Values that are at least ``low`` and at most ``high``, each None, a number, or one for every column."""
    if not is_foreign(F):
        return np.clip(F, low, high)
    low, high = (beside(F, end) if isinstance(end, np.ndarray) else end for end in (low, high))
    return F.clamp(min=low, max=high)


def nonzero_rows(values: Values) -> Any:
    """The rows that are not 0 in every column; None where there are none, or a selection would save nothing."""
    rows = values.any(dim=1).nonzero()[:, 0] if is_foreign(values) else np.flatnonzero(values.any(axis=1))
    return rows if 0 < len(rows) < FEW_ROWS * len(values) else None
