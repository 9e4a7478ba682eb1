"""The loss of logistic regression for two classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .base import ClassLoss, Values


class Logistic(ClassLoss):
    """The function log(1 + exp(-y f)) for two classes."""

    def value(self, F: Values) -> NDArray[np.float64]:
        margin = (self.signs(F.dtype) * F).astype(np.float64)
        return self.weight @ np.logaddexp(0.0, -margin)

    def _probability(self, F: Values) -> Values:
        """Return the probability of the other class."""
        margin = self.signs(F.dtype) * F
        return np.exp(-np.logaddexp(0, margin))

    def slope(self, F: Values) -> Values:
        return -self.signs(F.dtype) * self._probability(F) * self.weight[:, None].astype(F.dtype)

    def curvature(self, F: Values) -> Values:
        p = self._probability(F)
        return p * (1 - p) * self.weight[:, None].astype(F.dtype)
