"""Ridge regression from second moments: one alpha, a path of them, and their estimated errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..._caller import warn_caller
from ...gpu.device import Device
from ...gpu.left_out import LeftOutErrors
from ..statistics import Centred, Moments

Matrix = NDArray[np.float64]

N_ALPHAS = 25
ROWS_AT_ONCE = 1024
"""The number of rows whose features are rotated together, in float64: a whole chunk would need too much memory."""
ROUNDING = 1e-12
"""The smallest sum of squared residuals, as a share of the targets' own sum of squares."""
WIDEST_RANGE = 1e-11
"""The smallest alpha to try, relative to the largest eigenvalue; the largest is ten times that value."""


def solve_ridge(
    moments: Moments, alpha: float, intercept: bool, precision: float
) -> tuple[Matrix, tuple[Matrix, bool] | None]:
    """Return the coefficients, one column per target, and the factor that gave them.

    If features are linearly dependent, these are the coefficients of smallest norm, there is no factor, and a warning
    is issued. ``precision`` is the relative error of the moments.
    """
    centred = moments.centred(intercept)
    factor = cholesky(centred.gram, alpha, precision, moments.rounding(precision))
    if factor is not None:
        return scipy.linalg.cho_solve(factor, centred.cross), factor
    warn_caller(
        f"the features are linearly dependent, or nearly so, and alpha={alpha:g} is too small to compensate; returning "
        "the coefficients of smallest norm; raise alpha",
    )
    return Path.of(moments, intercept, precision).coefficients(alpha), None


class RidgeEnd(NamedTuple):
    """Half the squared residuals and alpha / 2 times the squared norm of the coefficients, over all targets.

    ``gap`` is how far that is above the least value at most, as a share of it.
    """

    objective: float
    gap: float

    @classmethod
    def of(cls, objective: float, apart: float) -> RidgeEnd:
        """Return an objective that is at most this far above its minimum, which is not negative."""
        objective = max(objective, 0.0)  # the residuals consist of rounding errors
        with np.errstate(over="ignore", invalid="ignore"):
            gap = float(np.float64(apart) / max(objective, float(np.finfo(np.float64).tiny)))
        return cls(objective, min(gap, 1.0))

    @classmethod
    def at(cls, coef: Matrix, alpha: float, centred: Centred) -> RidgeEnd:
        """Return the objective of coefficients; the gap is half the squared norm of the gradient over alpha."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            bent = centred.gram @ coef + alpha * coef
            gradient = bent - centred.cross
            objective = 0.5 * float(np.trace(centred.squares) + (coef * (gradient - centred.cross)).sum())
            squared = 0.5 * np.float64((gradient**2).sum())
            apart = float(squared / alpha) if squared > 0.0 else 0.0
        return cls.of(objective, apart)


def cholesky(gram: Matrix, alpha: float, precision: float, rounding: float) -> tuple[Matrix, bool] | None:
    """Return the factor of gram + alpha I; None if it is numerically singular.

    If alpha exceeds the rounding errors of eigenvalues, the matrix is safely regular; otherwise, only if its pivots
    are.
    """
    shifted = gram.copy()
    shifted[np.diag_indices_from(shifted)] += alpha
    try:  # the transpose is the same matrix in LAPACK's order, which saves a copy
        factor = scipy.linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diag(factor[0]) ** 2
    is_clear = alpha > rounding or pivots.min() > len(gram) * precision * pivots.max()
    return factor if is_clear and np.isfinite(pivots).all() else None


class Path(NamedTuple):
    """Ridge regression for all alphas, from one eigendecomposition."""

    values: Matrix
    vectors: Matrix
    turned: Matrix
    """The cross moments in the coordinates of the eigenvectors."""
    squares: Matrix
    weight: float
    intercept: bool
    negligible: float
    """Eigenvalues up to this are rounding errors; such directions need a larger alpha."""

    @classmethod
    def of(cls, moments: Moments, intercept: bool, precision: float, device: Device | None = None) -> Path:
        """Return the path of moments with this relative precision, decomposed on a device if there is one."""
        centred = moments.centred(intercept)
        values, vectors = np.linalg.eigh(centred.gram) if device is None else device.eigh(centred.gram)
        turned, squares = vectors.T @ centred.cross, np.diag(centred.squares)
        total, negligible = float(moments.weight[0]), moments.rounding(precision)
        return cls(np.maximum(values, 0.0), vectors, turned, squares, total, intercept, negligible)

    def alphas(self) -> Matrix:
        """Return the values of alpha to try if none are given."""
        largest = float(self.values[-1]) or 1.0
        least = max(WIDEST_RANGE, min(self.negligible / largest, 1.0))
        return largest * np.logspace(np.log10(least), 1.0, N_ALPHAS)

    def shrunk(self, alpha: float) -> Matrix:
        """Return 1 / (eigenvalue + alpha); 0 if the denominator consists of rounding errors."""
        shifted = self.values + alpha
        return np.divide(
            1.0, shifted, out=np.zeros_like(shifted), where=(self.values > self.negligible) | (alpha > self.negligible)
        )

    def coefficients(self, alpha: float) -> Matrix:
        """Return the coefficients, one column per target."""
        return self.vectors @ (self.shrunk(alpha)[:, None] * self.turned)

    def freedom(self, alpha: float) -> float:
        """Return the effective number of coefficients."""
        return float((self.values * self.shrunk(alpha)).sum()) + self.intercept

    def residual(self, alpha: float) -> Matrix:
        """Return the sum of squared residuals, for every target."""
        shrunk = self.shrunk(alpha)
        explained = (self.turned**2 * (shrunk * (2.0 - self.values * shrunk))[:, None]).sum(axis=0)
        # The difference of two nearly equal numbers consists of rounding errors, which must not decide between alphas.
        return np.maximum(self.squares - explained, ROUNDING * self.squares)

    def objective(self, alpha: float) -> float:
        """Half the squared residuals and alpha / 2 times the squared norm of the coefficients, over all targets."""
        return 0.5 * float((self.squares - (self.turned**2 * self.shrunk(alpha)[:, None]).sum(axis=0)).sum())

    def gcv(self, alpha: float) -> Matrix:
        r"""Generalised cross-validation: :math:`(RSS / n) / (1 - df / n)^2` for every target."""
        left = 1.0 - self.freedom(alpha) / self.weight
        return self.residual(alpha) / self.weight / left**2 if left > 0.0 else np.full(len(self.squares), np.inf)


def relative(scores: Matrix, spread: Matrix) -> Matrix:
    """Return errors summed over targets, in units of their variance."""
    return (scores / np.where(spread > 0.0, spread, 1.0)).sum(axis=1)


def best_of(scores: Matrix, spread: Matrix) -> int:
    """Return the row of errors, one per alpha, with the smallest sum over targets in units of their variance.

    If sums agree to six digits, it is the last of them.
    """
    sums = relative(scores, spread)
    return int(np.flatnonzero(sums <= sums.min() * (1.0 + 1e-6))[-1])


class LeaveOneOut(NamedTuple):
    """The quantities from which a pass over the rows computes leave-one-out errors."""

    path: Path
    alphas: Matrix
    feature_mean: Matrix
    target_mean: Matrix

    def errors(self, Z: NDArray[Any], Y: Matrix, weight: Matrix | None) -> Matrix:
        """The error e / (1 - h) of every row when it is left out, for every alpha and every target.

        Not a number where a row with a leverage of 1 is fitted exactly.
        """
        w = np.ones(len(Z)) if weight is None else weight
        return self.errors_of_turned(self.turned(Z), Y, w)

    def errors_of_turned(self, turned: Matrix, Y: Matrix, w: Matrix) -> Matrix:
        """Return the errors of rows whose features are rotated already, which takes most of the time."""
        residuals, leverage = self.residuals_and_leverages(turned, Y, w)
        with np.errstate(divide="ignore", invalid="ignore"):
            return residuals / np.maximum(1.0 - leverage, 0.0)[:, :, None]

    def on(self, device: Device | None) -> LeaveOneOut | DeviceLeaveOneOut:
        """Return an object that computes these errors on a device, or this object if there is no device."""
        return self if device is None else DeviceLeaveOneOut(device, self)

    @property
    def shrunk(self) -> Matrix:
        """Return 1 / (eigenvalue + alpha), one column per alpha."""
        return np.column_stack([self.path.shrunk(alpha) for alpha in self.alphas.tolist()])

    @property
    def turned_coef(self) -> Matrix:
        """The coefficients in the coordinates of the eigenvectors, for every alpha and target."""
        return self.shrunk[:, :, None] * self.path.turned[:, None, :]

    def errors_and_hits(self, Z: NDArray[Any], Y: Matrix, weight: Matrix | None, counted: bool) -> tuple[Matrix, ...]:
        """The weighted sums, over rows, of the squares of these errors, one row per alpha and one column per target.

        In addition, for codes of classes, the weight of the rows whose class is predicted correctly, for every alpha.
        """
        w = np.ones(len(Z)) if weight is None else weight
        cuts = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(Z), ROWS_AT_ONCE)] or [slice(0, 0)]
        found = [self._sums(Z[rows], Y[rows], w[rows], counted) for rows in cuts]
        return tuple(np.sum(one, axis=0) for one in zip(*found, strict=True))

    def _sums(self, Z: NDArray[Any], Y: Matrix, w: Matrix, counted: bool) -> tuple[Matrix, ...]:
        errors = self.errors(Z, Y, w)
        sums = np.tensordot(w, np.where(np.isnan(errors), 0.0, errors) ** 2, axes=1)
        if not counted:
            return (sums,)
        with np.errstate(invalid="ignore"):
            return sums, w @ hit(Y, Y[:, None] - errors)

    def turned(self, Z: NDArray[Any]) -> Matrix:
        """Return centred features, in the coordinates of the eigenvectors."""
        # In float64: the difference between 1 and a leverage near 1 would have no digits in float32.
        return (Z.astype(np.float64, copy=False) - self.feature_mean) @ self.path.vectors

    def residuals_and_leverages(self, turned: Matrix, Y: Matrix, w: Matrix) -> tuple[Matrix, Matrix]:
        """Return residuals and leverages of rows for every alpha, the residuals also for every target."""
        # All alphas in one product: a pass over the rotated features for each would take longer than rotating them.
        leverage = w[:, None] * ((turned**2) @ self.shrunk + self.path.intercept / self.path.weight)
        coef = self.turned_coef
        fitted = (turned @ coef.reshape(len(coef), -1)).reshape(len(turned), *coef.shape[1:])
        return (Y - self.target_mean)[:, None] - fitted, leverage


class DeviceLeaveOneOut:
    """Leave-one-out errors for features on a device.

    Parameters
    ----------
    device : Device
    left_out : LeaveOneOut
    """

    def __init__(self, device: Device, left_out: LeaveOneOut):
        path, self._target_mean = left_out.path, left_out.target_mean
        of_intercept = path.intercept / path.weight
        self._errors = LeftOutErrors(
            device, path.vectors, left_out.shrunk, left_out.turned_coef, left_out.feature_mean, of_intercept
        )

    def errors_and_hits(self, Z: Any, Y: Matrix, weight: Matrix | None, counted: bool) -> tuple[Any, ...]:
        """Return the sums of :meth:`LeaveOneOut.errors_and_hits`."""
        return self._errors.sums(Z, Y, self._target_mean, weight, counted)


def hit(codes: Matrix, predicted: Matrix) -> NDArray[np.bool_]:
    """Whether the predicted codes give the right class, for every row and alpha; NaN is never right."""
    if codes.shape[1] == 1:
        return codes * predicted[:, :, 0] > 0.0
    return np.where(np.isnan(predicted), -np.inf, predicted).argmax(axis=2) == codes.argmax(axis=1)[:, None]


class Leverages(NamedTuple):
    """The share of a row's own target in its prediction, for a weight of 1."""

    factor: tuple[Matrix, bool]
    feature_mean: Matrix
    of_intercept: float

    @classmethod
    def of(cls, moments: Moments, factor: tuple[Matrix, bool] | None, intercept: bool, precision: float) -> Leverages:
        """Return leverages of ridge regression with this factor or, without one, the smallest alpha that has one."""
        centred, alpha = moments.centred(intercept), moments.rounding(precision)
        while factor is None:
            alpha = max(10.0 * alpha, float(np.finfo(np.float64).eps))
            factor = cholesky(centred.gram, alpha, precision, 0.0)
        return cls(factor, centred.feature_mean, 1.0 / float(moments.weight[0]) if intercept else 0.0)

    def at(self, Z: NDArray[Any]) -> Matrix:
        """Return the leverages of rows."""
        open_ = scipy.linalg.solve_triangular(self.factor[0], (Z - self.feature_mean).T, lower=True, check_finite=False)
        return (open_**2).sum(axis=0) + self.of_intercept
