"""Least squares under w >= 0, from the normal equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

TOLERANCE = 1e-10
"""A gradient this small, relative to the right-hand side, counts as 0."""
PATIENCE = 3


def nonnegative_minimum(gram: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise w' G w / 2 - b' w over w >= 0, for a positive definite G.

    Block principal pivoting: solve for a guess of the free entries, then exchange all entries that violate the
    conditions of the optimum (w >= 0 if free, gradient >= 0 otherwise), or only one of them if exchanging all has not
    helped for a while, which is known to terminate. This takes a few Cholesky factorisations instead of one per entry,
    as in SciPy's ``nnls``.

    References
    ----------
    Kim and Park, Fast nonnegative matrix factorization: an active-set-like method and comparisons, SISC 2011.
    """
    free = np.ones(len(right), dtype=bool)
    fewest, patience = len(right) + 1, PATIENCE
    weights = np.zeros(len(right))
    for _ in range(10 * len(right)):
        weights = np.zeros(len(right))
        if free.any():
            weights[free] = cho_solve(cho_factor(gram[np.ix_(free, free)]), right[free])
        gradient = gram @ weights - right
        wrong = np.where(free, weights < 0.0, gradient < -TOLERANCE * np.abs(right).max())
        count = int(wrong.sum())
        if count == 0:
            break
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong
    else:
        raise ValueError(
            "the weights do not converge, because the features are nearly the same: increase the regularisation"
        )
    return np.maximum(weights, 0.0)
