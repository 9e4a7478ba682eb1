r"""The uncertainty of ridge regression: the posterior of the Gaussian process behind it.

With A the centred second moments of features plus alpha, and noise of variance :math:`\sigma^2`, the coefficients have
the covariance :math:`\sigma^2 A^{-1}`. Features may miss a part of the kernel, as the features of landmarks do: this
part remains as uncertain after the fit as before, with :math:`\sigma^2 / \alpha` times its covariance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..._random import Stream
from ..statistics import Moments
from .ridge import cholesky

Matrix = NDArray[np.float64]

NEGLIGIBLE = 1e-12
"""A variance that is left in a covariance is rounding up to this, relative to the largest."""


class Posterior(NamedTuple):
    """The uncertainty of predictions: noise about the fit, and uncertainty of the coefficients.

    Attributes
    ----------
    factor : tuple
        The lower Cholesky factor of A.
    feature_mean : ndarray of shape (D,)
        The mean of the features.
    noise : ndarray of shape (n_targets,)
        The variance of every target about the fit: squared residuals divided by the number of rows minus the effective
        number of coefficients.
    weight : float
        The number of rows.
    intercept : bool
        Whether there is a constant.
    alpha : float
        The penalty.
    """

    factor: tuple[Matrix, bool]
    feature_mean: Matrix
    noise: Matrix
    weight: float
    intercept: bool
    alpha: float

    @classmethod
    def of(cls, moments: Moments, alpha: float, intercept: bool, precision: float) -> Posterior | None:
        """Return the posterior from moments, or None if the features are linearly dependent."""
        centred = moments.centred(intercept)
        factor = cholesky(centred.gram, alpha, precision, moments.rounding(precision))
        if factor is None:
            return None
        coef, total = scipy.linalg.cho_solve(factor, centred.cross), float(moments.weight[0])
        inverse, _ = scipy.linalg.lapack.dpotri(factor[0], lower=1)
        freedom = len(coef) - alpha * float(np.trace(inverse)) + intercept
        # ||y - Zw||^2 = y'y - 2 w'Z'y + w'Z'Z w, and Z'Z w = Z'y - alpha w.
        residual = np.diag(centred.squares) - (coef * centred.cross).sum(axis=0) - alpha * (coef**2).sum(axis=0)
        noise = np.maximum(residual, 0.0) / max(total - freedom, 1.0)
        return cls(factor, centred.feature_mean, noise, total, intercept, alpha)

    @property
    def of_intercept(self) -> float:
        """The contribution of the constant to every variance, in units of the noise."""
        return 1.0 / self.weight if self.intercept else 0.0

    def opened(self, Z: NDArray[np.floating]) -> Matrix:
        """Return the features of rows in coordinates in which the coefficients are independent, one column per row."""
        return scipy.linalg.solve_triangular(self.factor[0], (Z - self.feature_mean).T, lower=True, check_finite=False)

    def deviations(self, Z: NDArray[np.floating], missed: Matrix | None = None) -> Matrix:
        """Return the standard deviation of a new target at every row, one column per target.

        ``missed`` is the part of k(x, x) that the features of every row miss.
        """
        spread = 1.0 + (self.opened(Z) ** 2).sum(axis=0) + self.of_intercept
        if missed is not None:
            spread = spread + missed / self.alpha
        return np.sqrt(spread[:, None] * self.noise)

    def covariance(self, Z: NDArray[np.floating], missed: Matrix | None = None) -> Matrix:
        """Return the covariance of new targets at all rows, in units of the noise.

        ``missed`` is the part of the kernel matrix that the features of these rows miss.
        """
        opened = self.opened(Z)
        found = opened.T @ opened
        found += self.of_intercept
        if missed is not None:
            found += missed / self.alpha
        found[np.diag_indices_from(found)] += 1.0
        return found

    def coefficients(self, rng: Stream, coef: Matrix, count: int) -> tuple[Matrix, Matrix]:
        """Draw coefficients and constants from the posterior, with features centred about their means.

        Parameters
        ----------
        rng : Stream
            The random numbers.
        coef : ndarray of shape (n_targets, D)
            The mean of the coefficients.
        count : int
            The number of draws for every target. A larger number starts with the same ones.

        Returns
        -------
        coef : ndarray of shape (n_targets, count, D)
            The coefficients.
        constants : ndarray of shape (n_targets, count)
            The constants, whose mean is 0.
        """
        targets, width = coef.shape
        turns = rng.child("coefficients").normals((count, targets, width)).transpose(1, 0, 2)
        solved = scipy.linalg.solve_triangular(
            self.factor[0], turns.reshape(-1, width).T, lower=True, trans="T", check_finite=False
        )
        deviation = np.sqrt(self.noise)[:, None]
        drawn = solved.T.reshape(turns.shape) * deviation[:, :, None]
        shifts = rng.child("constants").normals((count, targets)).T
        return coef[:, None] + drawn, shifts * deviation * np.sqrt(self.of_intercept)


def semidefinite_root(covariance: Matrix) -> Matrix:
    """Return R with R R' equal to a positive semidefinite matrix, apart from what is rounding of its diagonal."""
    scale = float(np.diag(covariance).max(initial=0.0))
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(covariance, tol=NEGLIGIBLE * scale, lower=1)
    root = np.zeros_like(covariance)
    root[order - 1, :rank] = np.tril(factor)[:, :rank]
    return root
