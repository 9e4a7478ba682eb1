"""The loss of least squares on targets 1 and -1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .base import ClassLoss, Values


class SquaredSigns(ClassLoss):
    """The function (1 - y f)^2, one class against the rest."""

    is_quadratic = True

    def value(self, F: Values) -> NDArray[np.float64]:
        return np.array([float((self.weight @ (self.signs(F.dtype) - F).astype(np.float64) ** 2).sum())])

    def slope(self, F: Values) -> Values:
        return 2 * (F - self.signs(F.dtype)) * self.weight[:, None].astype(F.dtype)

    def curvature(self, F: Values) -> Values:
        return 2 * self.weight[:, None].astype(F.dtype) + 0 * F
