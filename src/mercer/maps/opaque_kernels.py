"""Kernels known only by their values: a function of two objects, or a matrix."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import Array, dense, double, is_foreign

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Pairwise:
    """A function of two objects (strings, graphs, rows of numbers), called pair by pair."""

    function: Callable[[Any, Any], Any]

    def __call__(self, X: Array, Y: Any = None) -> Matrix:
        """Compute the Gram matrix of the objects in X and Y."""
        return self.gram(X, X if Y is None else Y)

    takes_every_row = True

    def check_rows(self, X: Array) -> None:
        """Accept all rows; the function itself refuses those that it cannot take."""

    def gram(self, X: Array, Y: Array) -> Matrix:
        right = _items(Y)
        return np.array([[self._value(x, y) for y in right] for x in _items(X)])

    def diagonal(self, X: Array) -> Matrix:
        return np.array([self._value(x, x) for x in _items(X)])

    def _value(self, x: Any, y: Any) -> float:
        value = self.function(x, y)
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self._call(x, y)} returned {reprlib.repr(value)}; expected a number") from error
        if not math.isfinite(number):
            raise ValueError(f"{self._call(x, y)} returned {number}; expected a finite number")
        return number

    def _call(self, x: Any, y: Any) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"the kernel {name}({reprlib.repr(x)}, {reprlib.repr(y)})"


@dataclass(frozen=True)
class Precomputed:
    """A kernel matrix in place of rows: row i holds k(x_i, y) for every training row y."""

    def __call__(self, X: Array, Y: Any = None) -> Matrix:
        """Return the Gram matrix of some rows and all training rows, which is the rows themselves."""
        whole = X if Y is None else Y
        if whole.shape[0] != whole.shape[1]:
            raise ValueError(
                "a precomputed kernel has no value for two new rows: expected the square matrix of the fit, "
                f"found shape {whole.shape}"
            )
        return dense(double(X))

    takes_every_row = True

    def check_rows(self, X: Array) -> None:
        """Accept all rows of the matrix."""

    def gram(self, X: Array, Y: NDArray[np.int64]) -> Matrix:
        return dense(double(X[:, Y]))


def _items(X: Array) -> Any:
    """Return what the function is called with: objects unchanged, rows of numbers as dense float64 rows."""
    return dense(double(X))


def is_matrix(X: Array) -> bool:
    """Return whether these are rows of numbers rather than a sequence of objects of any kind.

    A one-dimensional array of numbers is ambiguous: it may be a single row, or a column that lost its second axis.
    """
    if sp.issparse(X) or is_foreign(X):
        return True
    if hasattr(X, "__array__"):
        array = np.asarray(X)
        if array.ndim == 1 and array.dtype.kind in "biufc":
            raise ValueError(
                f"Expected 2D array, got an array of numbers of shape {array.shape} instead: reshape it to rows, "
                "or give objects as a list or an array of dtype object"
            )
        return array.ndim == 2
    if not isinstance(X, list | tuple) or len(X) == 0 or not isinstance(X[0], list | tuple | np.ndarray):
        return False
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return False
    return array.ndim == 2 and array.dtype.kind in "biuf"


def as_objects(X: Array, name: str = "X") -> NDArray[Any]:
    """Return a sequence of objects as a one-dimensional array."""
    listed = hasattr(X, "__len__") and hasattr(X, "__getitem__") and getattr(X, "ndim", 1) > 0
    if not listed or sp.issparse(X) or isinstance(X, str | bytes | Mapping) or hasattr(X, "columns"):
        raise TypeError(f"{name} must be a sequence of objects, found {reprlib.repr(X)}")
    if len(X) == 0:
        raise ValueError(f"{name} must hold at least one object, found none")
    objects = np.empty(len(X), dtype=object)
    for place, item in enumerate(X):  # one by one, because NumPy would turn lists of equal length into a matrix
        objects[place] = item
    return objects
