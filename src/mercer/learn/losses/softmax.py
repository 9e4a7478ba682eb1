"""The loss of logistic regression for several classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._array import Array, is_foreign, namespace
from .base import Bend, ClassLoss, Numbers
from .row_values import Values, weighted_sums


class Softmax(ClassLoss):
    """Minus the log-probability of a row's class, for several classes that form one problem."""

    def __init__(self, codes: Numbers, n_classes: int, weight: NDArray[np.float64]):
        super().__init__(codes, n_classes, weight)
        self.problems = np.zeros(self.n_columns, dtype=np.int64)

    def value(self, F: Values) -> NDArray[np.float64]:
        xp = namespace(F)
        top = xp.max(F, axis=1, keepdims=True)
        total = xp.log(xp.sum(xp.exp(F - top), axis=1, dtype=xp.float64)) + top[:, 0]
        own = xp.sum(self._own(F) * F, axis=1)
        return weighted_sums(self.weight, (total - own)[:, None])

    def _own(self, F: Values) -> Values:
        """Return 1 in the column of a row's class and 0 elsewhere."""
        return 0.5 * (self.signed(F) + 1)

    @staticmethod
    def probabilities(F: Values) -> Values:
        """Return the probabilities of all classes for every row."""
        xp = namespace(F)
        raised = xp.exp(F - xp.max(F, axis=1, keepdims=True))
        return raised / xp.sum(raised, axis=1, keepdims=True)

    def slope(self, F: Values) -> Values:
        return (self.probabilities(F) - self._own(F)) * self.weights(F)

    def curvature(self, F: Values) -> Values:
        p = self.probabilities(F)
        return p * (1 - p) * self.weights(F)

    def bend(self, F: Values) -> Bend:
        p = self.probabilities(F)
        return bend_of(p, p * self.weights(F))


def bend_of(p: Values, scaled: Values) -> Bend:
    """Return the bend of rows with these probabilities, given also multiplied by their weights."""

    def apply(rows: Array, V: Values) -> Values:
        return scaled[rows] * (V - namespace(V).sum(p[rows] * V, axis=1, keepdims=True))

    return Bend(apply, None, lambda rows: bend_of(p[rows], scaled[rows]), is_foreign(p))
