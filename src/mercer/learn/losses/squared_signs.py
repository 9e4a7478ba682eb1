"""The loss of least squares on targets 1 and -1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from .base import ClassLoss
from .row_values import Values, weighted_sums


class SquaredSigns(ClassLoss):
    """The function (1 - y f)^2, one class against the rest."""

    is_quadratic = True

    def value(self, F: Values) -> NDArray[np.float64]:
        errors = namespace(F).astype(self.signed(F) - F, namespace(F).float64)
        return np.array([weighted_sums(self.weight, errors**2).sum()])

    def slope(self, F: Values) -> Values:
        return 2 * (F - self.signed(F)) * self.weights(F)

    def curvature(self, F: Values) -> Values:
        return 2 * self.weights(F) + 0 * F
