"""Rows of norm 1, whatever their size."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._array import Array, squares


def unit_rows(X: Array) -> Array:
    """Return rows of norm 1; a row of zeros is not changed."""
    limits = np.finfo(X.dtype)
    with np.errstate(over="ignore"):
        found = squares(X)
    odd = ~((found > limits.tiny / limits.eps) & np.isfinite(found))  # a square has overflowed, or has no digits
    if odd.any():  # divide by their largest entry first; multiplying by its inverse might overflow
        largest = np.asarray(abs(X).max(axis=1).toarray()).ravel() if sp.issparse(X) else np.abs(X).max(axis=1)
        X = divided_rows(X, np.where(odd & (largest > 0.0), largest, 1.0))
        found = squares(X)
    norms = np.sqrt(found)
    norms[norms == 0.0] = 1.0
    return scaled_rows(X, 1.0 / norms)


def pull_unit_rows(rows: NDArray[np.float64], G: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gradients of a function of rows of norm 1 with respect to the original rows; 0 for a row of zeros."""
    norms = np.sqrt(squares(rows))[:, None]
    units = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0.0)
    along = (G * units).sum(axis=1, keepdims=True)
    return np.divide(G - along * units, norms, out=np.zeros_like(rows), where=norms > 0.0)


def divided_rows(X: Array, divisors: NDArray[Any]) -> Array:
    """Return every row divided by a number."""
    if sp.issparse(X):
        data = X.data / np.repeat(divisors, np.diff(X.indptr)).astype(X.dtype)
        return type(X)((data, X.indices, X.indptr), X.shape)
    return X / divisors[:, None].astype(X.dtype)


def scaled_rows(X: Array, factors: NDArray[Any]) -> Array:
    """Return every row times its factor."""
    if sp.issparse(X):
        data = X.data * np.repeat(factors, np.diff(X.indptr)).astype(X.dtype)
        return type(X)((data, X.indices, X.indptr), X.shape)
    return X * factors[:, None].astype(X.dtype)
