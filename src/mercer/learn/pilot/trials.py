"""One trial of a pilot: ridge regression on the features of a map, judged by its error on left-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import clone

from ..._array import Array
from ...maps import FeatureMap
from ...maps.nystrom_parameters import restored
from ..solvers.choice import has_landmark_values
from ..solvers.ridge import LeaveOneOut, Path
from ..statistics import Moments

Matrix = NDArray[np.float64]

LEAST_PENALTY = 1e-7
"""The smallest penalty that is tried, as a share of the trace of the second moments.

The effect of a smaller one on a few thousand rows is close to rounding, and says nothing about other rows.
"""

EXACT = 1e-6
"""The share of the variance of the targets by which errors must differ.

Without noise, ever smaller penalties reduce the error further, until float32 rows cannot resolve what they change.
"""

STRIDE = 4
"""One penalty in this many is tried first, then the neighbours of the best one: errors are smooth in between."""

JITTERS = 1e-14, 1e-12, 1e-10, 1e-8, 1e-6
"""The values that are tried on the diagonal of a kernel matrix, in units of its mean, until it can be factored."""


class Trial(NamedTuple):
    """What was tried on the rows of a pilot, and its expected error on new rows."""

    scale: str | None
    """How the columns were scaled."""
    kernel: str
    learned_columns: bool
    """Whether the columns were multiplied by learned scales."""
    n_rows: int
    n_features: int
    alpha: float
    """The best penalty, by leave-one-out, among the given ones if there are any."""
    error: float
    """The mean squared error of rows left out one by one, in units of the variance of the targets."""


class RidgeTrial(NamedTuple):
    """A trial with what is needed to compare it with others."""

    error: float
    alpha: float
    errors: Matrix
    """The squared error of every row if it is left out, times its weight, relative to the spread of the targets."""
    features: TrialFeatures
    coef: Matrix
    offset: Matrix

    def held_out(self, X: Array, Y: Matrix, weight: Matrix) -> Matrix:
        """Return the same errors for held-out rows."""
        predicted = self.features.of(X) @ self.coef + self.offset
        return weight * ((Y - predicted) ** 2).sum(axis=1)


class TrialFeatures:
    """The features of a fitted map; for landmarks, up to a rotation.

    Kernel values at landmarks are multiplied by the inverse of a triangular factor of the landmarks' own kernel matrix.
    Whitened features differ from these only by a rotation, which does not change the predictions of ridge regression,
    and require an eigendecomposition, which takes many times as long.

    Parameters
    ----------
    map : FeatureMap
        The map, which is fitted here.
    X : ndarray or CSR matrix
        Prepared rows.
    """

    def __init__(self, map: FeatureMap, X: Array):
        self.factor: Matrix | None = None
        if has_landmark_values(map):
            map = clone(map).set_params(whiten=False)
        self.map = map.fit(X)
        if map.gives_kernel_values:
            self.factor = cholesky(map.transform(self.landmarks).astype(np.float64))

    @property
    def landmarks(self) -> Any:
        """The landmarks of Nystrom."""
        return restored(self.map.parameters_.landmarks, self.map.n_features_in_)

    def of(self, X: Array) -> Matrix:
        """Return the features of rows."""
        Z = self.map.transform(X)
        if self.factor is None:
            return Z
        return scipy.linalg.solve_triangular(self.factor, Z.T, lower=True, check_finite=False).T

    def at_landmarks(self, coef: Matrix) -> Matrix:
        """Return coefficients of the kernel's values at landmarks, given coefficients of features."""
        assert self.factor is not None
        return scipy.linalg.solve_triangular(self.factor, coef, lower=True, trans="T", check_finite=False)


def cholesky(gram: Matrix) -> Matrix:
    """Return the lower factor of a kernel matrix, after the smallest sufficient increase of its diagonal."""
    size = float(np.trace(gram)) / len(gram) or 1.0
    for jitter in JITTERS:
        factor, failed = scipy.linalg.lapack.dpotrf(gram + jitter * size * np.eye(len(gram)), lower=1, clean=1)
        if not failed:
            return factor
    raise ValueError("the kernel is not positive semi-definite on these rows")


def ridge_trial(map: FeatureMap, X: Array, Y: Matrix, weight: Matrix, penalties: Matrix | None = None) -> RidgeTrial:
    """Return ridge regression with the penalty that has the smallest exact leave-one-out error.

    Parameters
    ----------
    map : FeatureMap
        The map, which is fitted here.
    X : ndarray or CSR matrix
        Prepared rows.
    Y : ndarray of shape (n_rows, n_targets)
    weight : ndarray of shape (n_rows,)
    penalties : ndarray of shape (n_penalties,), default=None
        The penalties to choose from; None derives them from the rows.

    Returns
    -------
    RidgeTrial
        The trial, with its errors.
    """
    features = TrialFeatures(map, X)
    Z = features.of(X)
    moments = Moments.of(Z, Y, weight)
    path = Path.of(moments, True, float(np.finfo(np.float64).eps))
    centred = moments.centred(True)
    alphas = path.alphas()
    if penalties is None:
        size = float(np.trace(moments.gram))
        alphas = alphas[alphas >= LEAST_PENALTY * size]
        if not len(alphas):  # features that are the same for all rows explain nothing, whatever the penalty
            alphas = np.array([size])
    else:
        alphas = np.unique(np.maximum(penalties, alphas[0]))  # anything smaller is rounding
    left_out = LeaveOneOut(path, alphas, centred.feature_mean, centred.target_mean)
    spread = float(np.trace(centred.squares)) or 1.0
    alpha, squares = least_squares_left_out(left_out, left_out.turned(Z), Y, weight, EXACT * spread)
    coef = path.coefficients(alpha)
    errors = weight * squares
    return RidgeTrial(float(errors.sum()) / spread, alpha, errors / spread, features, coef, centred.offset(coef))


def least_squares_left_out(
    left_out: LeaveOneOut, turned: Matrix, Y: Matrix, weight: Matrix, exact: float = 0.0
) -> tuple[float, Matrix]:
    """Return the penalty with the smallest error, and the squared errors of rows that are left out of a fit with it.

    Parameters
    ----------
    left_out : LeaveOneOut
        The left-out fits, with increasing penalties.
    turned : ndarray of shape (n_rows, n_features)
        The result of :meth:`LeaveOneOut.turned`.
    Y : ndarray of shape (n_rows, n_targets)
    weight : ndarray of shape (n_rows,)
    exact : float, default=0.0
        Sums of squared errors that differ by less than this are equal.
    """
    alphas = left_out.alphas
    found = np.full((len(turned), len(alphas)), np.inf)

    def try_at(places: NDArray[np.int64]) -> int:
        squares = (left_out._replace(alphas=alphas[places]).errors_of_turned(turned, Y, weight) ** 2).sum(axis=2)
        found[:, places] = np.where(np.isfinite(squares), squares, np.inf)
        return best_penalty(weight @ found, exact)

    places = np.arange(len(alphas))
    first = try_at(places[(places - len(alphas) + 1) % STRIDE == 0])
    around = (np.abs(places - first) < STRIDE) & (places != first)
    best = try_at(places[around]) if around.any() else first
    return float(alphas[best]), found[:, best]


def best_penalty(errors: Matrix, exact: float = 0.0) -> int:
    """Return the position of the smallest error; of errors equal to six digits or ``exact``, of the largest penalty."""
    return int(np.flatnonzero(errors <= np.min(errors) * (1.0 + 1e-6) + exact)[-1])


def not_worse(errors: Matrix, best: Matrix, by: float = 1.0) -> bool:
    """Whether errors exceed the errors of the best trial by at most this many standard errors of their difference."""
    difference = errors - best
    n = len(difference)
    return bool(difference.sum() <= by * np.sqrt(n * difference.var())) if n > 1 else False


def clearly_better(errors: Matrix, other: Matrix, by: float = 1.0) -> bool:
    """Whether errors are below others by more than this many standard errors of their difference."""
    return bool(errors.sum() < other.sum()) and not not_worse(other, errors, by)


def smoothest(trials: Sequence[RidgeTrial]) -> int:
    """Return the position of the first trial, from smooth to rough, that is not worse than the best."""
    best = min(range(len(trials)), key=lambda place: trials[place].error)
    return next(
        place for place, trial in enumerate(trials) if place == best or not_worse(trial.errors, trials[best].errors)
    )
