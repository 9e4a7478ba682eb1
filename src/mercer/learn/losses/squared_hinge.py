"""The loss of a support vector machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .base import ClassLoss, Values


class SquaredHinge(ClassLoss):
    """The function max(0, 1 - y f)^2, one class against the rest."""

    def _excess(self, F: Values) -> Values:
        return np.maximum(1 - self.signs(F.dtype) * F, 0)

    def value(self, F: Values) -> NDArray[np.float64]:
        return np.array([float((self.weight @ self._excess(F).astype(np.float64) ** 2).sum())])

    def slope(self, F: Values) -> Values:
        return -2 * self.signs(F.dtype) * self._excess(F) * self.weight[:, None].astype(F.dtype)

    def curvature(self, F: Values) -> Values:
        return np.where(self.signs(F.dtype) * F < 1, 2 * self.weight[:, None].astype(F.dtype), 0)
