"""The loss of logistic regression for several classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .base import Bend, ClassLoss, Numbers, Values


class Softmax(ClassLoss):
    """Minus the log-probability of a row's class, for several classes that form one problem."""

    def __init__(self, codes: Numbers, n_classes: int, weight: NDArray[np.float64]):
        super().__init__(codes, n_classes, weight)
        self.problems = np.zeros(self.n_columns, dtype=np.int64)

    def value(self, F: Values) -> NDArray[np.float64]:
        top = F.max(axis=1, keepdims=True)
        total = np.log(np.exp(F - top).sum(axis=1, dtype=np.float64)) + top[:, 0]
        own = np.take_along_axis(F, self.codes[:, None], axis=1)[:, 0]
        return np.array([float(self.weight @ (total - own))])

    @staticmethod
    def probabilities(F: Values) -> Values:
        """Return the probabilities of all classes for every row."""
        raised = np.exp(F - F.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    def slope(self, F: Values) -> Values:
        p = self.probabilities(F)
        p[np.arange(len(F)), self.codes] -= 1
        return p * self.weight[:, None].astype(F.dtype)

    def curvature(self, F: Values) -> Values:
        p = self.probabilities(F)
        return p * (1 - p) * self.weight[:, None].astype(F.dtype)

    def bend(self, F: Values) -> Bend:
        p = self.probabilities(F)
        scaled = p * self.weight[:, None].astype(F.dtype)
        return bend_of(p, scaled)


def bend_of(p: Values, scaled: Values) -> Bend:
    """The bend of rows with these probabilities, and the same times their weights."""

    def apply(rows: slice | Numbers, V: Values) -> Values:
        return scaled[rows] * (V - np.einsum("ij,ij->i", p[rows], V)[:, None])

    return Bend(apply, None, lambda rows: bend_of(p[rows], scaled[rows]))
