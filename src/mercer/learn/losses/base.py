"""What a loss gives a solver: its values, slopes and curvatures at the decision values F of all rows and columns.

Decision values are NumPy arrays, or tensors where features are on a device; then slopes and curvatures are too.

A loss is a sum over rows of ``weight`` times a function of the row's decision values. Where that function is a sum over
columns, each of them is a problem of its own, which can be minimised for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._array import is_foreign, precision_and_device
from .row_values import Values, beside, weighted_sums

Numbers = NDArray[np.int64]


HELD = 6
"""Arrays that are remembered in another precision or place."""


class Bend(NamedTuple):
    """The second derivative of a loss, applied to changes of the decision values of some rows.

    Parameters
    ----------
    apply : callable
        The change of the slopes of these rows.
    diagonal : array of shape (n_rows, n_columns) or None
        What every change is multiplied by, where the columns of a row do not depend on each other.
    of_rows : callable
        The same for some rows alone, given as a slice; None where ``diagonal`` tells.
    on_device : bool, default=False
        Whether changes are to be tensors.
    """

    apply: Callable[[Any, Values], Values]
    diagonal: Values | None = None
    of_rows: Callable[[slice], Bend] | None = None
    on_device: bool = False

    def __call__(self, rows: Any, V: Values) -> Values:
        return self.apply(rows, V)

    def part(self, rows: slice) -> Bend:
        """That of some rows, which are then counted from the first of them."""
        if self.diagonal is not None:
            return self.of(self.diagonal[rows])
        assert self.of_rows is not None
        return self.of_rows(rows)

    @classmethod
    def of(cls, diagonal: Values) -> Bend:
        """That of columns which do not depend on each other."""
        return cls(lambda rows, V: diagonal[rows] * V, diagonal, on_device=is_foreign(diagonal))


class Loss(ABC):
    """A function of decision values: columns stand for classes, or for the targets of a regression.

    ``problems`` and ``tasks`` have a number for every column: equal ones for those that are minimised together, and
    for those that tell classes of the same target apart.
    """

    n_columns: int
    problems: Numbers
    tasks: Numbers
    weight: NDArray[np.float64]
    _held: tuple[tuple[NDArray[Any], tuple[str, ...], Values], ...] = ()
    """What was sent to a device or rounded, with what it was and the precision and device that it has now."""
    is_quadratic: ClassVar[bool] = False
    """Whether curvatures are the same everywhere, so that one Newton step is all it takes."""

    @abstractmethod
    def value(self, F: Values) -> NDArray[np.float64]:
        """The loss, one number per task."""

    @abstractmethod
    def slope(self, F: Values) -> Values:
        """Its derivative in every decision value."""

    @abstractmethod
    def curvature(self, F: Values) -> Values:
        """Its second derivative in every decision value."""

    def beside(self, F: Values, array: NDArray[Any]) -> Values:
        """One of the arrays of this loss in the precision of F, and where F is; sent once."""
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
        """The weight of every row, as a column."""
        return self.beside(F, self.weight)[:, None]

    def scaled(self, factor: NDArray[np.float64] | float) -> Loss:
        """The same loss, in which every row counts ``factor`` times as much."""
        other = copy(self)
        other.weight = self.weight * factor
        return other

    def bend(self, F: Values) -> Bend:
        """The second derivative at F."""
        return Bend.of(self.curvature(F))


class ClassLoss(Loss):
    """The loss of one target that has classes.

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

    @cached_property
    def signs(self) -> NDArray[np.float64]:
        """Those of :func:`signs_of`."""
        return signs_of(self.codes, self.n_columns)

    def signed(self, F: Values) -> Values:
        """The signs in the precision of F, and where F is."""
        return self.beside(F, self.signs)


def signs_of(codes: Numbers, n_columns: int) -> NDArray[np.float64]:
    """1 in the column of a row's class and -1 elsewhere; a single column is that of the second class."""
    classes = np.array([1]) if n_columns == 1 else np.arange(n_columns)
    return np.where(codes[:, None] == classes, 1.0, -1.0)


class TargetLoss(Loss):
    """The loss of numbers: every column has targets of its own, and is a problem and a task of its own.

    A loss is written for one row and one column: :meth:`terms`, :meth:`slopes` and :meth:`bends` are its value and its
    derivatives in the decision value.

    Parameters
    ----------
    targets : array of shape (n_rows, n_columns)
    weight : array of shape (n_rows,)
    factors : array of shape (n_columns,)
        What the loss of a column counts, beside the weight of the row.
    """

    def __init__(self, targets: NDArray[np.float64], weight: NDArray[np.float64], factors: NDArray[np.float64]):
        self.targets, self.weight, self.factors = targets, weight, factors
        self.n_columns = targets.shape[1]
        self.problems = self.tasks = np.arange(self.n_columns)

    def targets_beside(self, F: Values) -> Values:
        """The targets in the precision of F, and where F is."""
        return self.beside(F, self.targets)

    @abstractmethod
    def terms(self, F: Values) -> Values:
        """The loss of every row and column, without weights."""

    @abstractmethod
    def slopes(self, F: Values) -> Values:
        """The derivatives of the terms."""

    @abstractmethod
    def bends(self, F: Values) -> Values:
        """Their second derivatives."""

    def value(self, F: Values) -> NDArray[np.float64]:
        return self.factors * weighted_sums(self.weight, self.terms(F))

    def slope(self, F: Values) -> Values:
        return self._weighted(self.slopes(F))

    def curvature(self, F: Values) -> Values:
        return self._weighted(self.bends(F))

    def _weighted(self, terms: Values) -> Values:
        return terms * self.weights(terms) * self.beside(terms, self.factors)
