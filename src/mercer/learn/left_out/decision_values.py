r"""Decision values of rows as if they had been left out of the training rows.

Each row is left out by one Newton step from the coefficients of all of them. With g and h the slope and the curvature
of the loss of a row at its decision value f, features z and the Hessian
:math:`H = I + Z^\top \mathrm{diag}(h)\, Z` of all rows, its decision value without it is

.. math:: f + \frac{q\,g}{1 - q\,h} \quad\text{with}\quad q = z^\top H^{-1} z,

which is exact if the loss is quadratic (Cook and Weisberg, Residuals and influence in regression, 1982) and a good
approximation otherwise (Rad and Maleki, A scalable estimate of the out-of-sample prediction error, 2020).

Columns are treated one by one. The k classes of a softmax share one problem: if all are equally likely, their curvature
is k / (k - 1) times that of each class alone, and this factor is used throughout. A loss with corners has slopes, the
prices of its dual, but no curvature. The curvature of a smoothed loss is used instead, where the smoothing is so wide
that a share :math:`n^{-1/5}` of the rows is near a corner, as in density estimation at quantiles; h is 0 in the
denominator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..losses import Loss, SmoothedLoss

Matrix = NDArray[np.float64]

NEAREST = 1e-8
"""The smallest distance of a leverage from 1."""

ROUNDING = 2.0
"""The errors of eigenvalues of sums, as a multiple of the trace and the precision."""

DENSITY = -0.2
"""The power of the number of rows that gives the share of rows near the smoothed corners of a loss."""
NARROWEST, WIDEST, WIDER = 1e-4, 100.0, 1.5
"""The range of widths of this smoothing, and their growth, in units of the targets."""


def left_out_each(Z: NDArray[Any], F: NDArray[Any], loss: Loss, share: Matrix, intercept: bool) -> Matrix:
    """Return decision values of rows in memory, each as if it had been left out.

    ``share`` is the part of a row's weight that is left out: one copy of a row that counts as several.
    """
    slopes, curvatures, own = slopes_and_curvatures(loss, F)
    found = np.stack([influences(Z, h, intercept) for h in curvatures.T], axis=1)
    return without(F, slopes, own, found, share)


def coordinates(gram: Matrix) -> Matrix:
    """Return features of rows, as many as there are rows, with these inner products; only the lower half is read."""
    values, vectors = np.linalg.eigh(gram, UPLO="L")
    # Eigenvalues that are only rounding errors are dropped, because their square roots would not be small.
    rounding = len(values) * float(np.finfo(np.float64).eps) * values[-1]
    return vectors * np.sqrt(np.where(values > rounding, values, 0.0))


def slopes_and_curvatures(loss: Loss, F: NDArray[Any]) -> tuple[Matrix, Matrix, Matrix]:
    """Return the slopes of all rows and columns, the curvatures for the Hessian, and those in the denominator."""
    slopes = loss.slope(F).astype(np.float64)
    if isinstance(loss, SmoothedLoss):
        curvatures = widely_smoothed(loss, F).curvature(F).astype(np.float64)
        return slopes, curvatures, np.zeros_like(curvatures)
    count = np.bincount(loss.problems)[loss.problems]
    curvatures = loss.curvature(F).astype(np.float64) * np.where(count > 1, count / np.maximum(count - 1.0, 1.0), 1.0)
    return slopes, curvatures, curvatures


def widely_smoothed(loss: SmoothedLoss, F: NDArray[Any]) -> SmoothedLoss:
    """Return a loss with corners smoothed so widely that a given share of the rows is near its corners."""
    share, width = len(F) ** DENSITY, NARROWEST
    nothing = np.zeros((1, 1), dtype=F.dtype)
    while width < WIDEST and np.count_nonzero(loss.about(nothing, width).bends(F)) < share * F.size:
        width *= WIDER
    return loss.about(nothing, width)


def without(F: NDArray[Any], slopes: Matrix, curvatures: Matrix, own: Matrix, share: Matrix) -> Matrix:
    """Return the result of the formula above, where ``own`` contains the q of every row and column."""
    part = share[:, None] * own
    return F.astype(np.float64) + part * slopes / np.maximum(1.0 - part * curvatures, NEAREST)


def influences(Z: NDArray[Any], h: Matrix, intercept: bool) -> Matrix:
    """Return z' H^-1 z of every row, with a free intercept if there is one."""
    curved = np.flatnonzero(h)
    if Z.shape[1] <= len(curved):
        return Curvature.of([(Z[curved], h[curved])], Z.shape[1], intercept).influences(Z)
    total = float(h.sum())
    Z = Z.astype(np.float64)
    if intercept and total > 0.0:
        Z = Z - h @ Z / total
    own = (Z**2).sum(axis=1)
    if len(curved):  # older releases of SciPy do not solve empty systems
        scaled = Z[curved] * np.sqrt(h[curved])[:, None]  # the same from products of rows
        system = np.eye(len(curved)) + scaled @ scaled.T
        factor = rounded_factor(system, float(np.trace(system)), system.dtype)
        known = scipy.linalg.solve_triangular(factor, scaled @ Z.T, lower=True, check_finite=False)
        own = np.maximum(own - (known**2).sum(axis=0), 0.0)
    return own + 1.0 / total if intercept and total > 0.0 else own


def rounded_factor(matrix: Matrix, size: float, dtype: np.dtype[Any]) -> Matrix:
    """Return the lower factor of a sum of products in this precision, whose trace was ``size`` before it was centred.

    Eigenvalues that are lost to rounding are replaced by the size of the rounding.
    """
    matrix[np.diag_indices_from(matrix)] += ROUNDING * float(np.finfo(dtype).eps) * size
    return scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)


class Curvature(NamedTuple):
    """The factored Hessian of one column, centred if there is an intercept."""

    factor: Matrix
    mean: Matrix
    total: float
    """The sum of all curvatures; 0 if there is no intercept, or nothing that would determine it."""

    @classmethod
    def of(cls, parts: Iterable[tuple[NDArray[Any], NDArray[Any]]], width: int, intercept: bool) -> Curvature:
        """Compute it from the features of the rows with curvature, some at a time, and their curvatures.

        Products of features are in the precision of the curvatures, and are added in float64.
        """
        gram, sums, total, dtype = np.eye(width), np.zeros(width), 0.0, np.dtype(np.float64)
        for Z, h in parts:
            scaled = Z * np.sqrt(h)[:, None]
            dtype = scaled.dtype
            gram += scaled.T @ scaled
            sums += h @ Z.astype(np.float64)
            total += float(h.sum(dtype=np.float64))
        size = float(np.trace(gram))
        if not intercept or total == 0.0:
            total, mean = 0.0, np.zeros(width)
        else:
            mean = sums / total
            gram -= np.outer(sums, mean)
        return cls(rounded_factor(gram, size, dtype), mean, total)

    def influences(self, Z: NDArray[Any]) -> Matrix:
        """Return z' H^-1 z of rows."""
        turned = scipy.linalg.solve_triangular(self.factor, (Z - self.mean).T, lower=True, check_finite=False)
        return (turned**2).sum(axis=0) + (1.0 / self.total if self.total > 0.0 else 0.0)
