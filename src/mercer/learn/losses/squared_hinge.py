"""The loss of a support vector machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from .base import ClassLoss
from .row_values import Values, clipped, weighted_sums


class SquaredHinge(ClassLoss):
    """The function max(0, 1 - y f)^2, one class against the rest."""

    has_idle_rows = True

    def _excess(self, F: Values) -> Values:
        return clipped(1 - self.signed(F) * F, 0, None)

    def value(self, F: Values) -> NDArray[np.float64]:
        excess = namespace(F).astype(self._excess(F), namespace(F).float64)
        return np.array([weighted_sums(self.weight, excess**2).sum()])

    def slope(self, F: Values) -> Values:
        return -2 * self.signed(F) * self._excess(F) * self.weights(F)

    def curvature(self, F: Values) -> Values:
        return 2 * self.weights(F) * namespace(F).astype(self.signed(F) * F < 1, F.dtype)
