r"""What the rows leave open of a logistic regression: Laplace's approximation to a Gaussian process of classes.

The coefficients of least loss are the most likely ones if those of a class are normal with the variance C. About them
the logarithm of the posterior is nearly quadratic, with :math:`H / C` as its Hessian, where :math:`H = I + C Z^\top W
Z` and W has p (1 - p) on its diagonal. A decision value is then nearly normal, with the variance :math:`C\, z^\top
H^{-1} z`, and C times what landmarks miss of k(x, x) (Rasmussen and Williams, Gaussian processes for machine learning,
2006, section 3.4). Classes of a softmax are taken one by one, as if their coefficients were independent.

The probability of a class is the mean of the sigmoid over this normal distribution. Of several classes, decision values
are divided by :math:`\sqrt{1 + \pi v / 8}`, with v the variance of the difference between the two largest: for two
classes that is close to the mean, and the order of classes stays.
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
"""Of the normal distribution whose cumulative function is nearest to the sigmoid, about."""
POINTS = np.linspace(-8.0, 8.0, 129)
"""Deviations from the mean at which the sigmoid is compared with that function."""
SHARES = np.exp(-0.5 * POINTS**2) / np.exp(-0.5 * POINTS**2).sum()


class LaplacePosterior(NamedTuple):
    """The factors of H, one for every column of decision values.

    Attributes
    ----------
    factors : ndarray of shape (n_columns, width, width)
        Lower triangles; with an intercept the last row and column are its own.
    """

    factors: Matrix

    @classmethod
    def of(cls, design: Design, loss: Loss, W: Matrix, intercept: bool) -> LaplacePosterior:
        """That of a design at the coefficients W of least loss, which is scaled by C."""
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
                    "probabilities='laplace' needs a Hessian whose digits are not lost: lower C, or give float64 rows"
                ) from None
        return cls(factors)

    def variances(self, Z: NDArray[np.floating], C: float, missed: Matrix | None = None) -> Matrix:
        """The variances of decision values at rows with these features, one column each."""
        rows = Z.astype(np.float64, copy=False)
        if rows.shape[1] < self.factors.shape[1]:
            rows = np.column_stack([rows, np.ones(len(rows))])
        each = [scipy.linalg.solve_triangular(one, rows.T, lower=True, check_finite=False) for one in self.factors]
        found = np.stack([(one**2).sum(axis=0) for one in each], axis=1)
        return C * (found if missed is None else found + missed[:, None])


def integrated(values: NDArray[np.floating], variances: Matrix) -> Matrix:
    """Values whose softmax has the mean probabilities of a task, from its decision values and their variances."""
    wide: Matrix = values.astype(np.float64)
    if wide.ndim == 1:
        return log_odds_of_means(wide, variances[:, 0])
    rows, order = np.arange(len(wide))[:, None], np.argsort(wide, axis=1)[:, -2:]
    between = variances[rows, order].sum(axis=1, keepdims=True)
    return wide / np.sqrt(1.0 + math.pi / 8.0 * between)


def log_odds_of_means(values: Matrix, variance: Matrix) -> Matrix:
    """The log-odds of the mean sigmoid of normal numbers.

    The cumulative normal function has its mean in closed form, and what the sigmoid differs from it by is small and
    smooth: its mean is a sum over points.
    """
    away, deviation = -np.abs(values), np.sqrt(variance)
    other = ndtr(away / np.sqrt(WIDTH**2 + variance))
    for point, share in zip(POINTS.tolist(), SHARES.tolist(), strict=True):
        at = away + point * deviation
        other += share * (expit(at) - ndtr(at / WIDTH))
    other = np.clip(other, np.finfo(np.float64).tiny, 0.5)
    return np.sign(values) * (np.log1p(-other) - np.log(other))
