r"""The posterior of a logistic regression: Laplace's approximation to a Gaussian process classifier.

The coefficients with the smallest loss are the most likely ones if the coefficients of a class are normal with the
variance C. Near them, the logarithm of the posterior is nearly quadratic, with :math:`H / C` as its Hessian, where
:math:`H = I + C Z^\top W Z` and W has p (1 - p) on its diagonal. A decision value is then nearly normal, with the
variance :math:`C\, z^\top H^{-1} z`, plus C times the part of k(x, x) that landmarks miss (Rasmussen and Williams,
Gaussian processes for machine learning, 2006, section 3.4). Classes of a softmax are treated one by one, as if their
coefficients were independent.

The probability of a class is the mean of the sigmoid over this normal distribution. For several classes, decision
values are divided by :math:`\sqrt{1 + \pi v / 8}`, where v is the variance of the difference between the two largest:
for two classes this is close to the mean, and the order of the classes does not change.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from .._memory import check_room
from .features.design import Design
from .losses import Loss

Matrix = NDArray[np.float64]

WIDTH = 1.6
"""The approximate variance of the normal distribution whose cumulative function is closest to the sigmoid."""
POINTS = np.linspace(-8.0, 8.0, 129)
"""The deviations from the mean at which the sigmoid is compared with this cumulative function."""
SHARES = np.exp(-0.5 * POINTS**2) / np.exp(-0.5 * POINTS**2).sum()


class LaplacePosterior(NamedTuple):
    """The factors of the Hessian H, one for every column of decision values.

    Attributes
    ----------
    factors : ndarray of shape (n_columns, width, width)
        Lower triangles; if there is an intercept, the last row and column belong to it.
    """

    factors: Matrix

    @classmethod
    def of(cls, design: Design, loss: Loss, W: Matrix, intercept: bool) -> LaplacePosterior:
        """Return the posterior of a design at the coefficients W with the smallest loss, which is scaled by C."""
        width, columns = len(W), W.shape[1]
        check_room(3 * 8 * columns * width**2, "the factors of Laplace's approximation", None)
        curvatures = loss.curvature(design.products(W, "decision values"))
        factors = np.empty((columns, width, width))
        for factor, curvature in zip(factors, curvatures.T, strict=True):
            hessian = design.moments(np.ascontiguousarray(curvature), alone=True).astype(np.float64)
            hessian[np.diag_indices(width - intercept)] += 1.0
            try:
                factor[:] = np.linalg.cholesky(hessian)
            except np.linalg.LinAlgError:
                raise ValueError(
                    "probabilities='laplace': the Hessian is not positive definite in this precision: lower C, or use "
                    "float64 rows"
                ) from None
        return cls(factors)

    def variances(self, Z: NDArray[np.floating], C: float, missed: Matrix | None = None) -> Matrix:
        """Return the variances of the decision values of rows with these features, one column per class."""
        rows = Z.astype(np.float64, copy=False)
        if rows.shape[1] < self.factors.shape[1]:
            rows = np.column_stack([rows, np.ones(len(rows))])
        each = [scipy.linalg.solve_triangular(one, rows.T, lower=True, check_finite=False) for one in self.factors]
        found = np.stack([(one**2).sum(axis=0) for one in each], axis=1)
        return C * (found if missed is None else found + missed[:, None])


def integrated(values: NDArray[np.floating], variances: Matrix) -> Matrix:
    """Return values whose softmax gives the mean probabilities of a task, given decision values and variances."""
    wide: Matrix = values.astype(np.float64)
    if wide.ndim == 1:
        return log_odds_of_means(wide, variances[:, 0])
    rows, order = np.arange(len(wide))[:, None], np.argsort(wide, axis=1)[:, -2:]
    between = variances[rows, order].sum(axis=1, keepdims=True)
    return wide / np.sqrt(1.0 + math.pi / 8.0 * between)


def log_odds_of_means(values: Matrix, variance: Matrix) -> Matrix:
    """Return the log-odds of the mean sigmoid of normal variables.

    The mean of the cumulative normal function is known in closed form. Its difference from the sigmoid is small and
    smooth, so the mean of the difference is computed as a sum over points.
    """
    away, deviation = -np.abs(values), np.sqrt(variance)
    other = ndtr(away / np.sqrt(WIDTH**2 + variance))
    for point, share in zip(POINTS.tolist(), SHARES.tolist(), strict=True):
        at = away + point * deviation
        other += share * (expit(at) - ndtr(at / WIDTH))
    other = np.clip(other, np.finfo(np.float64).tiny, 0.5)
    return np.sign(values) * (np.log1p(-other) - np.log(other))
