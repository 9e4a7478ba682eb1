"""Losses of margins: values, slopes and curvatures at the decision values F of all rows and classes.

A loss is a sum over rows of ``weight`` times a function of the row's decision values. Where that function is a sum over
classes, each class is a problem of its own, which can be minimised for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Numbers = NDArray[np.int64]
Bend = Callable[[slice, Values], Values]
"""The second derivative at some rows, applied to changes of their decision values."""


class Loss(ABC):
    """A function of decision values, with a column for every class, or one for two.

    ``problems`` and ``tasks`` have a number for every column: equal ones for those that are minimised together, and
    for those that tell classes of the same target apart.
    """

    n_columns: int
    problems: Numbers
    tasks: Numbers

    @abstractmethod
    def value(self, F: Values) -> NDArray[np.float64]:
        """The loss, a number a task."""

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


class TaskLoss(Loss):
    """The loss of one target.

    Parameters
    ----------
    codes : the class of every row, from 0
    n_classes : how many there are; two have one column of decision values, positive for the second
    weight : of every row, with the constant C in it
    """

    def __init__(self, codes: Numbers, n_classes: int, weight: NDArray[np.float64]):
        self.codes = codes
        self.n_columns = 1 if n_classes == 2 else n_classes
        self.problems = np.arange(self.n_columns)
        self.tasks = np.zeros(self.n_columns, dtype=np.int64)
        self.weight = weight
        self._signs: Values | None = None

    def signs(self, dtype: Any) -> Values:
        """Those of :func:`signs_of`, in the precision of the features."""
        if self._signs is None or self._signs.dtype != dtype:
            self._signs = signs_of(self.codes, self.n_columns).astype(dtype)
        return self._signs


class SquaredHinge(TaskLoss):
    """max(0, 1 - y f)^2, one class against the rest."""

    def _excess(self, F: Values) -> Values:
        return np.maximum(1 - self.signs(F.dtype) * F, 0)

    def value(self, F: Values) -> NDArray[np.float64]:
        return np.array([float((self.weight @ self._excess(F).astype(np.float64) ** 2).sum())])

    def slope(self, F: Values) -> Values:
        return -2 * self.signs(F.dtype) * self._excess(F) * self.weight[:, None].astype(F.dtype)

    def curvature(self, F: Values) -> Values:
        return np.where(self.signs(F.dtype) * F < 1, 2 * self.weight[:, None].astype(F.dtype), 0)


class Logistic(TaskLoss):
    """log(1 + exp(-y f)) of two classes."""

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


class Softmax(TaskLoss):
    """-log of the probability of a row's class, of several: one problem."""

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


class SideBySide(Loss):
    """The losses of several targets of the same rows: their columns share every product with the features."""

    def __init__(self, losses: Sequence[TaskLoss]):
        self.losses = losses
        ends = np.cumsum([loss.n_columns for loss in losses]).tolist()
        self.columns = [slice(end - loss.n_columns, end) for end, loss in zip(ends, losses, strict=True)]
        self.n_columns = ends[-1]
        self.tasks = np.repeat(np.arange(len(losses)), [loss.n_columns for loss in losses])
        firsts = [columns.start for columns in self.columns]
        self.problems = np.concatenate([first + loss.problems for first, loss in zip(firsts, losses, strict=True)])

    def _each(self, name: str, F: Values) -> list[Any]:
        """What every loss makes of its own columns."""
        return [getattr(loss, name)(F[:, columns]) for loss, columns in zip(self.losses, self.columns, strict=True)]

    def value(self, F: Values) -> NDArray[np.float64]:
        return np.concatenate(self._each("value", F))

    def slope(self, F: Values) -> Values:
        return np.concatenate(self._each("slope", F), axis=1)

    def curvature(self, F: Values) -> Values:
        return np.concatenate(self._each("curvature", F), axis=1)

    def bend(self, F: Values) -> Bend:
        bends = list(zip(self._each("bend", F), self.columns, strict=True))
        return lambda rows, V: np.concatenate([bend(rows, V[:, columns]) for bend, columns in bends], axis=1)


def signs_of(codes: Numbers, n_columns: int) -> NDArray[np.float64]:
    """1 in the column of a row's class and -1 elsewhere; a single column is that of the second class."""
    classes = np.array([1]) if n_columns == 1 else np.arange(n_columns)
    return np.where(codes[:, None] == classes, 1.0, -1.0)


def loss_named(name: str, n_classes: int) -> type[TaskLoss]:
    """The loss of this name for so many classes."""
    if name == "squared_hinge":
        return SquaredHinge
    return Logistic if n_classes == 2 else Softmax
