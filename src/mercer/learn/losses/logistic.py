"""The loss of logistic regression for two classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import namespace
from .base import ClassLoss
from .row_values import Values, weighted_sums, zeros_beside


class Logistic(ClassLoss):
    """The function log(1 + exp(-y f)) for two classes."""

    def value(self, F: Values) -> NDArray[np.float64]:
        margin = namespace(F).astype(self.signed(F) * F, namespace(F).float64)
        return weighted_sums(self.weight, _rest(margin))

    def _probability(self, F: Values) -> Values:
        """Return the probability of the other class."""
        return namespace(F).exp(-_rest(-self.signed(F) * F))

    def slope(self, F: Values) -> Values:
        return -self.signed(F) * self._probability(F) * self.weights(F)

    def curvature(self, F: Values) -> Values:
        p = self._probability(F)
        return p * (1 - p) * self.weights(F)


def _rest(margin: Values) -> Values:
    """Return log(1 + exp(-margin)) without overflow."""
    return namespace(margin).logaddexp(zeros_beside(margin), -margin)
