"""The interface between losses and solvers: values, slopes and curvatures at the decision values F of all rows.

Decision values are NumPy arrays, or tensors if the features are on a device; then slopes and curvatures are, too.

A loss is a sum over rows of ``weight`` times a function of the row's decision values. If that function is a sum over
columns, each column is a separate problem, which can be minimised by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._array import Array, is_foreign, precision_and_device
from .row_values import Values, beside, weighted_sums

Numbers = NDArray[np.int64]


HELD = 6
"""The number of arrays that are remembered in another precision or place."""


class Bend(NamedTuple):
    """The second derivative of a loss, applied to changes of the decision values of some rows.

    Parameters
    ----------
    apply : callable
        Returns the change of the slopes of these rows.
    diagonal : ndarray of shape (n_rows, n_columns) or None
        The factors of every change, if the columns of a row are independent of each other.
    of_rows : callable
        Returns the same for some rows, given as a slice; None if ``diagonal`` is given.
    on_device : bool, default=False
        Whether changes are tensors.
    """

    apply: Callable[[Any, Values], Values]
    diagonal: Values | None = None
    of_rows: Callable[[slice], Bend] | None = None
    on_device: bool = False

    def __call__(self, rows: Array, V: Values) -> Values:
        return self.apply(rows, V)

    def part(self, rows: slice) -> Bend:
        """Return the bend of some rows, which are then counted from the first of them."""
        if self.diagonal is not None:
            return self.of(self.diagonal[rows])
        assert self.of_rows is not None
        return self.of_rows(rows)

    @classmethod
    def of(cls, diagonal: Values) -> Bend:
        """Return the second derivative for independent columns."""
        return cls(lambda rows, V: diagonal[rows] * V, diagonal, on_device=is_foreign(diagonal))


class Loss(ABC):
    """A function of decision values: columns represent classes, or the targets of a regression.

    ``problems`` and ``tasks`` have a number for every column: equal ones for columns that are minimised together, and
    for columns that distinguish classes of the same target.
    """

    n_columns: int
    problems: Numbers
    tasks: Numbers
    weight: NDArray[np.float64]
    _held: tuple[tuple[NDArray[Any], tuple[str, ...], Values], ...] = ()
    """Arrays that were sent to a device or rounded: the original, its new precision and device, and the result."""
    is_quadratic: ClassVar[bool] = False
    """Whether curvatures are the same everywhere, so that one Newton step is sufficient."""

    has_idle_rows: bool = False
    """Whether rows whose decision values are good enough have no curvature."""

    @abstractmethod
    def value(self, F: Values) -> NDArray[np.float64]:
        """Return the loss, one number per task."""

    @abstractmethod
    def slope(self, F: Values) -> Values:
        """Return the derivative with respect to every decision value."""

    @abstractmethod
    def curvature(self, F: Values) -> Values:
        """Return the second derivative with respect to every decision value."""

    def beside(self, F: Values, array: NDArray[Any]) -> Values:
        """Return an array of this loss in the precision of F and on its device; it is sent only once."""
        if array.dtype == F.dtype:
            return array
        place = precision_and_device(F)
        for source, there, found in self._held:
            if source is array and there == place:
                return found
        found = beside(F, array)
        self._held = (*self._held[-HELD:], (array, place, found))
        return found

    def weights(self, F: Values) -> Values:
        """Return the weights of the rows as a column."""
        return self.beside(F, self.weight)[:, None]

    def mean_weight(self) -> float:
        """Return the mean weight of the rows that have any."""
        weight = self.weight[self.weight > 0.0]
        return float(weight.mean()) if len(weight) else 0.0

    def scaled(self, factor: NDArray[np.float64] | float) -> Loss:
        """Return the same loss with the weight of every row multiplied by ``factor``."""
        other = copy(self)
        other.weight = self.weight * factor
        return other

    def bend(self, F: Values) -> Bend:
        """Return the second derivative at F."""
        return Bend.of(self.curvature(F))


class ClassLoss(Loss):
    """The loss of one target with classes.

    Parameters
    ----------
    codes : ndarray of int
        The class of every row, starting with 0.
    n_classes : int
        The number of classes; two classes have one column of decision values, positive for the second.
    weight : ndarray of shape (n_rows,)
        The weight of every row, including the constant C.
    """

    def __init__(self, codes: Numbers, n_classes: int, weight: NDArray[np.float64]):
        self.codes = codes
        self.n_columns = 1 if n_classes == 2 else n_classes
        self.problems = np.arange(self.n_columns)
        self.tasks = np.zeros(self.n_columns, dtype=np.int64)
        self.weight = weight

    @cached_property
    def signs(self) -> NDArray[np.float64]:
        """Return :func:`signs_of` the codes, in the precision of the features."""
        return signs_of(self.codes, self.n_columns)

    def signed(self, F: Values) -> Values:
        """Return the signs in the precision of F and on its device."""
        return self.beside(F, self.signs)


def signs_of(codes: Numbers, n_columns: int) -> NDArray[np.float64]:
    """Return 1 in the column of a row's class and -1 elsewhere; a single column belongs to the second class."""
    classes = np.array([1]) if n_columns == 1 else np.arange(n_columns)
    return np.where(codes[:, None] == classes, 1.0, -1.0)


class TargetLoss(Loss):
    """The loss of numbers: every column has its own targets, and is a separate problem and task.

    A loss is written for one row and one column: :meth:`terms`, :meth:`slopes` and :meth:`bends` are its value and its
    derivatives with respect to the decision value.

    Parameters
    ----------
    targets : ndarray of shape (n_rows, n_columns)
        The targets.
    weight : ndarray of shape (n_rows,)
        The weights of the rows.
    factors : ndarray of shape (n_columns,)
        The weights of the columns.
    """

    def __init__(self, targets: NDArray[np.float64], weight: NDArray[np.float64], factors: NDArray[np.float64]):
        self.targets, self.weight, self.factors = targets, weight, factors
        self.n_columns = targets.shape[1]
        self.problems = self.tasks = np.arange(self.n_columns)

    def targets_beside(self, F: Values) -> Values:
        """Return the targets in the precision of the features."""
        return self.beside(F, self.targets)

    @abstractmethod
    def terms(self, F: Values) -> Values:
        """Return the loss of every row and column, without weights."""

    @abstractmethod
    def slopes(self, F: Values) -> Values:
        """Return the derivatives of the terms."""

    @abstractmethod
    def bends(self, F: Values) -> Values:
        """Return the second derivatives of the terms."""

    def value(self, F: Values) -> NDArray[np.float64]:
        return self.factors * weighted_sums(self.weight, self.terms(F))

    def slope(self, F: Values) -> Values:
        return self._weighted(self.slopes(F))

    def curvature(self, F: Values) -> Values:
        return self._weighted(self.bends(F))

    def _weighted(self, terms: Values) -> Values:
        return terms * self.weights(terms) * self.beside(terms, self.factors)
