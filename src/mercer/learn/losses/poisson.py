"""The loss of counts: half the deviance of a Poisson distribution with mean exp(f)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ..._array import namespace
from .base import TargetLoss
from .row_values import Values, clipped

LARGEST = 30.0
"""Beyond the logarithm of the largest target plus this value, the exponential is replaced by its tangent parabola.

No minimum is that far away, and no step on the way to it overflows.
"""


class Poisson(TargetLoss):
    """The function exp(f) - y f + y log(y) - y, which is 0 for exp(f) = y."""

    def __init__(self, targets: NDArray[np.float64], weight: NDArray[np.float64], factors: NDArray[np.float64]):
        super().__init__(targets, weight, factors)
        self._rest = xlogy(targets, targets) - targets
        self._last = LARGEST + math.log(max(1.0, float(targets.max(initial=0.0))))

    def _mean(self, F: Values) -> tuple[Values, Values]:
        """Return exp(f), and how far f lies beyond the last value for which this is exact."""
        return namespace(F).exp(clipped(F, None, self._last)), clipped(F - self._last, 0, None)

    def terms(self, F: Values) -> Values:
        F = namespace(F).astype(F, namespace(F).float64, copy=False)
        mean, beyond = self._mean(F)
        return mean * (1.0 + beyond + 0.5 * beyond**2) - self.targets_beside(F) * F + self.beside(F, self._rest)

    def slopes(self, F: Values) -> Values:
        mean, beyond = self._mean(F)
        return mean * (1 + beyond) - self.targets_beside(F)

    def bends(self, F: Values) -> Values:
        return self._mean(F)[0]
