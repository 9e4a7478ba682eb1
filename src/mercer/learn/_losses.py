"""Losses of margins: values, slopes and curvatures at the decision values F of all rows and classes.

A loss is a sum over rows of ``weight`` times a function of the row's decision values. It is ``separable`` where that
function is a sum over classes, each of which can then be minimised for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Bend = Callable[[slice, Values], Values]
"""The second derivative at some rows, applied to changes of their decision values."""


class Loss(ABC):
    """Parameters
    ----------
    codes : the class of every row, from 0
    n_classes : how many there are; two have one column of decision values, positive for the second
    weight : of every row, with the constant C in it
    """

    separable: bool

    def __init__(self, codes: NDArray[np.int64], n_classes: int, weight: NDArray[np.float64]):
        self.codes = codes
        self.n_columns = 1 if n_classes == 2 else n_classes
        self.weight = weight
        self._signs: Values | None = None

    def signs(self, dtype: Any) -> Values:
        """1 in the column of a row's class and -1 elsewhere."""
        if self._signs is None or self._signs.dtype != dtype:
            classes = np.array([1]) if self.n_columns == 1 else np.arange(self.n_columns)
            self._signs = np.where(self.codes[:, None] == classes, 1.0, -1.0).astype(dtype)
        return self._signs

    @abstractmethod
    def value(self, F: Values) -> NDArray[np.float64]:
        """The loss, a number a column where it is separable, else one."""

    @abstractmethod
    def slope(self, F: Values) -> Values:
        """Its derivative in every decision value."""

    @abstractmethod
    def curvature(self, F: Values) -> Values:
        """Its second derivative in every decision value."""

    def bend(self, F: Values) -> Bend:
        """The second derivative at F."""
        h = self.curvature(F)
        return lambda rows, V: h[rows] * V


class SquaredHinge(Loss):
    """max(0, 1 - y f)^2, one class against the rest."""

    separable = True

    def _excess(self, F: Values) -> Values:
        return np.maximum(1 - self.signs(F.dtype) * F, 0)

    def value(self, F: Values) -> NDArray[np.float64]:
        return self.weight @ self._excess(F).astype(np.float64) ** 2

    def slope(self, F: Values) -> Values:
        return -2 * self.signs(F.dtype) * self._excess(F) * self.weight[:, None].astype(F.dtype)

    def curvature(self, F: Values) -> Values:
        return np.where(self.signs(F.dtype) * F < 1, 2 * self.weight[:, None].astype(F.dtype), 0)


class Logistic(Loss):
    """log(1 + exp(-y f)) of two classes."""

    separable = True

    def value(self, F: Values) -> NDArray[np.float64]:
        margin = (self.signs(F.dtype) * F).astype(np.float64)
        return self.weight @ np.logaddexp(0.0, -margin)

    def _probability(self, F: Values) -> Values:
        """That of the other class."""
        margin = self.signs(F.dtype) * F
        return np.exp(-np.logaddexp(0, margin))

    def slope(self, F: Values) -> Values:
        return -self.signs(F.dtype) * self._probability(F) * self.weight[:, None].astype(F.dtype)

    def curvature(self, F: Values) -> Values:
        p = self._probability(F)
        return p * (1 - p) * self.weight[:, None].astype(F.dtype)


class Softmax(Loss):
    """-log of the probability of a row's class, of several."""

    separable = False

    def value(self, F: Values) -> NDArray[np.float64]:
        top = F.max(axis=1, keepdims=True)
        total = np.log(np.exp(F - top).sum(axis=1, dtype=np.float64)) + top[:, 0]
        own = np.take_along_axis(F, self.codes[:, None], axis=1)[:, 0]
        return np.array([float(self.weight @ (total - own))])

    @staticmethod
    def probabilities(F: Values) -> Values:
        """A row's shares of its classes."""
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
        return lambda rows, V: scaled[rows] * (V - np.einsum("ij,ij->i", p[rows], V)[:, None])


def loss_named(name: str, n_classes: int) -> type[Loss]:
    """The loss of this name for so many classes."""
    if name == "squared_hinge":
        return SquaredHinge
    return Logistic if n_classes == 2 else Softmax
