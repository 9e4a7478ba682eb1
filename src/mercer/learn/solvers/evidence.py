r"""The evidence for a penalty: the likelihood of the targets under the Gaussian process behind ridge regression.

Ridge regression with penalty :math:`\alpha` is the mean of a Gaussian process whose noise has the variance
:math:`\sigma^2` and whose prior covariance is the kernel of the features times :math:`\sigma^2 / \alpha`. With G and c
the second moments of features and targets, S the squares of the targets, and N rows, the targets have the logarithmic
density

.. math:: -\tfrac{1}{2}\Bigl(N \log 2 \pi \sigma^2 + \log\det(I + G / \alpha) + \frac{Q}{\sigma^2}\Bigr), \qquad
          Q = S - c^\top (G + \alpha I)^{-1} c,

which has its maximum over the noise at :math:`\sigma^2 = Q / N` (Rasmussen and Williams, Gaussian processes for machine
learning, 2006, section 5.4). A constant that is not regularised has a flat prior: moments are centred about the means,
and N is smaller by one, which makes it the restricted likelihood of the differences between targets.

At the maximum over the penalty as well, :math:`Q / N` equals the sum of squared residuals divided by N minus the
effective number of coefficients, which is how noise is estimated for any penalty.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from ..statistics import Centred
from .ridge import ROUNDING, Path

Matrix = NDArray[np.float64]

LEAST = 1e-8
"""The smallest alpha that is tried, relative to the largest eigenvalue.

The likelihood of targets without noise increases as alpha decreases, until the rounding of sums decides.
"""
CLOSE = 1e-13
"""The tolerance for the logarithm of the best alpha."""


class Evidence(NamedTuple):
    """The quantities on which the likelihood of the targets depends.

    Parameters
    ----------
    weight : float
        N: the number of rows, minus one for a constant.
    volume : float
        The logarithm of det(I + G / alpha).
    misfit : ndarray of shape (n_targets,)
        Q of every target.
    """

    weight: float
    volume: float
    misfit: Matrix

    @classmethod
    def of_path(cls, path: Path, alpha: float) -> Evidence:
        """Return the evidence for one alpha of a path."""
        explained = (path.turned**2 * path.shrunk(alpha)[:, None]).sum(axis=0)
        misfit = np.maximum(path.squares - explained, ROUNDING * path.squares)
        return cls(path.weight - path.intercept, float(np.log1p(path.values / alpha).sum()), misfit)

    @classmethod
    def of_factor(
        cls, factor: tuple[Matrix, bool], alpha: float, coef: Matrix, centred: Centred, weight: float
    ) -> Evidence:
        """Return the evidence from the lower factor of G + alpha I; ``weight`` is N."""
        volume = 2.0 * float(np.log(np.diag(factor[0])).sum()) - len(coef) * math.log(alpha)
        squares = np.diag(centred.squares)
        return cls(weight, volume, np.maximum(squares - (coef * centred.cross).sum(axis=0), ROUNDING * squares))

    @property
    def noise(self) -> Matrix:
        """The most likely noise of every target."""
        return self.misfit / self.weight

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of all targets, with the most likely noise of each; infinite if one has no noise."""
        with np.errstate(divide="ignore"):
            each = self.weight * (math.log(2.0 * math.pi) + 1.0 + np.log(self.noise)) + self.volume
        return -0.5 * float(each.sum())

    @property
    def errors(self) -> Matrix:
        """The likelihood of every target as a mean squared error.

        It is the geometric mean, over rows, of the variances with which each row is predicted from the previous ones.
        The likelihood is largest where this is smallest.
        """
        with np.errstate(over="ignore"):
            return self.noise * np.exp(self.volume / self.weight)


def most_evident(errors: Matrix) -> int:
    """Return the row of errors, one per alpha, with the largest evidence for all targets together."""
    with np.errstate(divide="ignore"):
        return int(np.argmin(np.log(errors).sum(axis=1)))


def evident_alphas(path: Path) -> Matrix:
    """Return alphas to try in increasing order, followed by the one with the largest evidence near the best of them.

    This last one is missing if the best is the first or the last.
    """
    alphas = path.alphas()
    alphas = alphas[alphas >= LEAST * path.values[-1]]
    errors = np.stack([Evidence.of_path(path, alpha).errors for alpha in alphas.tolist()])
    place = most_evident(errors)
    if not (errors > 0.0).all() or not 0 < place < len(alphas) - 1:
        return alphas
    low, high = np.log(alphas[[place - 1, place + 1]]).tolist()
    if not slope(path, math.exp(low)) > 0.0 > slope(path, math.exp(high)):  # there are two maxima between them
        return alphas
    best = scipy.optimize.brentq(lambda power: slope(path, math.exp(power)), low, high, xtol=CLOSE, rtol=CLOSE)
    return np.append(alphas, math.exp(best))


def slope(path: Path, alpha: float) -> float:
    """Return twice the derivative of the log-likelihood of all targets with respect to the logarithm of alpha."""
    shrunk, evidence = path.shrunk(alpha), Evidence.of_path(path, alpha)
    lengths = alpha * (path.turned**2 * shrunk[:, None] ** 2).sum(axis=0)
    return float(((path.values * shrunk).sum() - lengths / evidence.noise).sum())
