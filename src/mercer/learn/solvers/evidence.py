r"""The evidence for a penalty: how likely the targets are under the Gaussian process that ridge regression is.

Ridge regression with penalty :math:`\alpha` is the mean of a Gaussian process whose noise has the variance
:math:`\sigma^2` and whose prior is the kernel of the features times :math:`\sigma^2 / \alpha`. With G and c the second
moments of features and targets, S the squares of the targets, and N rows, the targets have the logarithmic density

.. math:: -\tfrac{1}{2}\Bigl(N \log 2 \pi \sigma^2 + \log\det(I + G / \alpha) + \frac{Q}{\sigma^2}\Bigr), \qquad
          Q = S - c^\top (G + \alpha I)^{-1} c,

which is largest over the noise at :math:`\sigma^2 = Q / N` (Rasmussen and Williams, Gaussian processes for machine
learning, 2006, section 5.4). A constant that is not regularised has a flat prior: moments are about the means, and N is
one less, which makes it the restricted likelihood of the differences between targets.

At its largest over the penalty too, :math:`Q / N` is the sum of squared residuals over N less the effective number of
coefficients, which is how noise is estimated for any penalty.
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
"""The least alpha that is tried, relative to the largest eigenvalue.

Targets without noise are likeliest under ever smaller ones, where the rounding of sums would decide.
"""
CLOSE = 1e-13
"""How close the logarithm of alpha comes to the best one."""


class Evidence(NamedTuple):
    """What the likelihood of the targets depends on.

    Parameters
    ----------
    weight : float
        N: the number of rows, less the constant.
    volume : float
        log det(I + G / alpha).
    misfit : ndarray of shape (n_targets,)
        Q of every target.
    """

    weight: float
    volume: float
    misfit: Matrix

    @classmethod
    def of_path(cls, path: Path, alpha: float) -> Evidence:
        """That of one alpha of a path."""
        explained = (path.turned**2 * path.shrunk(alpha)[:, None]).sum(axis=0)
        misfit = np.maximum(path.squares - explained, ROUNDING * path.squares)
        return cls(path.weight - path.intercept, float(np.log1p(path.values / alpha).sum()), misfit)

    @classmethod
    def of_factor(
        cls, factor: tuple[Matrix, bool], alpha: float, coef: Matrix, centred: Centred, weight: float
    ) -> Evidence:
        """That of the lower factor of G + alpha I; ``weight`` is N."""
        volume = 2.0 * float(np.log(np.diag(factor[0])).sum()) - len(coef) * math.log(alpha)
        squares = np.diag(centred.squares)
        return cls(weight, volume, np.maximum(squares - (coef * centred.cross).sum(axis=0), ROUNDING * squares))

    @property
    def noise(self) -> Matrix:
        """The noise of every target under which it is likeliest."""
        return self.misfit / self.weight

    @property
    def log_likelihood(self) -> float:
        """Of all targets, with the noise of each under which it is likeliest; infinite where one has none."""
        with np.errstate(divide="ignore"):
            each = self.weight * (math.log(2.0 * math.pi) + 1.0 + np.log(self.noise)) + self.volume
        return -0.5 * float(each.sum())

    @property
    def errors(self) -> Matrix:
        r"""The likelihood of every target as a mean squared error.

        It is the geometric mean, over rows, of the variances with which each is predicted from the rows before it; the
        likelihood is largest where this is least.
        """
        with np.errstate(over="ignore"):
            return self.noise * np.exp(self.volume / self.weight)


def most_evident(errors: Matrix) -> int:
    """Which row of errors, an alpha each, has the largest evidence of all targets together."""
    with np.errstate(divide="ignore"):
        return int(np.argmin(np.log(errors).sum(axis=1)))


def evident_alphas(path: Path) -> Matrix:
    """Alphas to try, which rise, and at the end the one of largest evidence that lies next to the best of them.

    There is none at the end where the best is the first or the last.
    """
    alphas = path.alphas()
    alphas = alphas[alphas >= LEAST * path.values[-1]]
    errors = np.stack([Evidence.of_path(path, alpha).errors for alpha in alphas.tolist()])
    place = most_evident(errors)
    if not (errors > 0.0).all() or not 0 < place < len(alphas) - 1:
        return alphas
    low, high = np.log(alphas[[place - 1, place + 1]]).tolist()
    if not slope(path, math.exp(low)) > 0.0 > slope(path, math.exp(high)):  # there are two peaks between them
        return alphas
    best = scipy.optimize.brentq(lambda power: slope(path, math.exp(power)), low, high, xtol=CLOSE, rtol=CLOSE)
    return np.append(alphas, math.exp(best))


def slope(path: Path, alpha: float) -> float:
    """Twice the derivative of the likelihood of all targets with respect to the logarithm of alpha."""
    shrunk, evidence = path.shrunk(alpha), Evidence.of_path(path, alpha)
    lengths = alpha * (path.turned**2 * shrunk[:, None] ** 2).sum(axis=0)
    return float(((path.values * shrunk).sum() - lengths / evidence.noise).sum())
