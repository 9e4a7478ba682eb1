"""One trial of a pilot: ridge regression on the features of a map, judged by the error of rows that are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...maps import FeatureMap
from ..solvers.ridge import LeaveOneOut, Path
from ..statistics import Moments

Matrix = NDArray[np.float64]

LEAST_PENALTY = 1e-7
"""The smallest penalty that is tried, as a share of the trace of the second moments.

What a smaller one would tell of a few thousand rows is next to their rounding, and does not carry over to others.
"""


class Trial(NamedTuple):
    """What was tried on the rows of a pilot, and the error that it would have on new rows."""

    scale: str | None
    """How the columns were scaled."""
    kernel: str
    learned_columns: bool
    """Whether the columns were multiplied by learned scales."""
    n_rows: int
    n_features: int
    alpha: float
    """The best penalty, by leave-one-out."""
    error: float
    """The mean squared error of rows left out one by one, in units of the variance of the targets."""


class RidgeTrial(NamedTuple):
    """A trial with what it takes to compare it with others."""

    error: float
    alpha: float
    errors: Matrix
    """The squared error of every row when it is left out, times its weight, relative to the spread of the targets."""
    map: FeatureMap
    coef: Matrix
    offset: Matrix

    def held_out(self, X: Any, Y: Matrix, weight: Matrix) -> Matrix:
        """The same errors for rows that were held out."""
        predicted = self.map.transform(X) @ self.coef + self.offset
        return weight * ((Y - predicted) ** 2).sum(axis=1)


def ridge_trial(map: FeatureMap, X: Any, Y: Matrix, weight: Matrix) -> RidgeTrial:
    """Ridge regression with the penalty whose exact leave-one-out error is least.

    Parameters
    ----------
    map : FeatureMap
        Fitted here.
    X : ndarray or CSR matrix
        Prepared rows.
    Y : ndarray of shape (n_rows, n_targets)
    weight : ndarray of shape (n_rows,)

    Returns
    -------
    RidgeTrial
    """
    Z = map.fit(X).transform(X)
    moments = Moments.of(Z, Y, weight)
    path = Path.of(moments, True, float(np.finfo(np.float64).eps))
    centred = moments.centred(True)
    alphas = path.alphas()
    alphas = alphas[alphas >= min(LEAST_PENALTY * float(np.trace(moments.gram)), alphas[-1])]
    left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean)
    squares = (left_out.errors(Z, Y, weight) ** 2).sum(axis=2)
    best = best_penalty(weight @ np.where(np.isfinite(squares), squares, np.inf))
    alpha, coef = float(alphas[best]), path.coefficients(float(alphas[best]))
    spread = float(np.trace(centred.squares))
    errors = weight * squares[:, best]
    return RidgeTrial(float(errors.sum()) / spread, alpha, errors / spread, map, coef, centred.offset(coef))


def best_penalty(errors: Matrix) -> int:
    """The place of the least error; of those that agree to six digits the last, whose penalty is the largest."""
    return int(np.flatnonzero(errors <= np.min(errors) * (1.0 + 1e-6))[-1])


def not_worse(errors: Matrix, best: Matrix) -> bool:
    """Whether errors are above those of the best trial by no more than one standard error of their difference."""
    difference = errors - best
    n = len(difference)
    return bool(difference.sum() <= np.sqrt(n * difference.var())) if n > 1 else False


def smoothest(trials: Sequence[RidgeTrial]) -> int:
    """The place of the first trial that is not worse than the best, where trials go from smooth to rough."""
    best = min(range(len(trials)), key=lambda place: trials[place].error)
    return next(
        place for place, trial in enumerate(trials) if place == best or not_worse(trial.errors, trials[best].errors)
    )
