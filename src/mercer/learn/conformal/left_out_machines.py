r"""Ridge regression without some of its rows: the coefficients that a fit to all other rows would give.

With A the centred second moments of features plus alpha, a row with features z, weight s and residual e has the
leverage :math:`h = s\,((z - \bar z)^\top A^{-1} (z - \bar z) + 1 / n)`. Without this row, the coefficients are

.. math:: w - \frac{s\,e}{1 - h}\, A^{-1} (z - \bar z)

and the residual of the row is :math:`e / (1 - h)` (Cook and Weisberg, Residuals and influence in regression, 1982).
Without an intercept there is no mean, and no 1 / n. If h is 1, nothing is known about the row if it is left out, and
its residual is infinite. The sums of a fold of rows are subtracted from the sums over all rows. The map, the
preparation and alpha are not learned again.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ...data.block import part_of
from ..regressor import KernelRegressor

Matrix = NDArray[np.float64]

ROUNDING = 1e-12
"""Below this, the difference between 1 and a leverage is a rounding error; with a small alpha, 1e-10 is not yet one."""


class LeftOutMachines(NamedTuple):
    """Machines trained without some rows, and their errors on these rows.

    Parameters
    ----------
    coef : ndarray of shape (n_machines, D)
        The coefficients.
    intercept : ndarray of shape (n_machines,)
        The constants.
    machine : ndarray of shape (n_rows,)
        The number of the machine that was trained without a row.
    residuals : ndarray of shape (n_rows,)
        The target of every row minus the prediction of that machine.
    """

    coef: Matrix
    intercept: Matrix
    machine: NDArray[np.int64]
    residuals: Matrix


def without_each(model: KernelRegressor, X: Any, y: Matrix, weight: Matrix) -> LeftOutMachines:
    """Return one machine for each of some rows of ``fit``, trained on all others, without another fit.

    Parameters
    ----------
    model : KernelRegressor
        A regressor with one target, ``loss="squared"`` and its sums.
    X : matrix or data frame
        The rows to leave out.
    y : ndarray of shape (n_rows,)
        Their targets.
    weight : ndarray of shape (n_rows,)
        Their weights.

    Returns
    -------
    LeftOutMachines
        The machines.
    """
    spread, coef = model.posterior(), np.ravel(model.coef_)
    mean = spread.feature_mean
    about = model.features_at(X).astype(np.float64) - mean
    solved = scipy.linalg.cho_solve(spread.factor, about.T, check_finite=False).T
    of_intercept = 1.0 / spread.weight if spread.intercept else 0.0
    left = 1.0 - weight * ((about * solved).sum(axis=1) + of_intercept)
    is_known = left > ROUNDING
    centre = float(model.intercept_) + float(mean @ coef)
    residuals = np.divide(y - centre - about @ coef, left, out=np.full(len(y), np.inf), where=is_known)
    steps = np.where(is_known, weight * residuals, 0.0)
    coefs = coef - steps[:, None] * solved
    intercepts = centre - steps * of_intercept - coefs @ mean
    return LeftOutMachines(coefs, intercepts, np.arange(len(y)), residuals)


def without_folds(
    model: KernelRegressor, X: Any, y: Matrix, weight: Matrix | None, folds: NDArray[np.int64]
) -> LeftOutMachines:
    """Return one machine for each fold of the rows of ``fit``, trained on all others.

    Parameters
    ----------
    model : KernelRegressor
        A regressor with one target, ``loss="squared"`` and its sums.
    X : matrix or data frame
        All rows of ``fit``.
    y : ndarray of shape (n_rows,)
        Their targets.
    weight : ndarray of shape (n_rows,) or None
        Their weights.
    folds : ndarray of shape (n_rows,)
        The fold of every row, starting with 0.

    Returns
    -------
    LeftOutMachines
        The machines.
    """
    residuals, found = np.empty(len(y)), []
    for fold in range(int(folds.max()) + 1):
        rows, other = np.flatnonzero(folds == fold), copy(model)
        other.alpha = model.alpha_
        part = part_of(X, rows)
        other.forget(part, y[rows], None if weight is None else weight[rows])
        residuals[rows] = y[rows] - other.predict(part)
        found.append((np.ravel(other.coef_), other.intercept_))
    coef, intercept = (np.array(one, dtype=np.float64) for one in zip(*found, strict=True))
    return LeftOutMachines(coef, intercept, folds, residuals)
