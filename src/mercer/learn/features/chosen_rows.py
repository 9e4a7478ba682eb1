"""Products of some rows of an array with few columns, and of their transpose with few weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._tiles import tiles

RowNumbers = NDArray[np.int64]

FEW_COLUMNS = 24
"""The largest number of columns for which rows are read at the speed of memory; for more, BLAS is better."""
STRETCH = 16384
"""The number of features of a row that are multiplied at once, so that the other factor stays in a cache."""


class ChosenRows(NamedTuple):
    """Rows of an array by their numbers, in increasing order; the compiled core reads them in place.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n)
        The array, which may consist of adjacent columns of a larger one.
    numbers : ndarray of shape (n_chosen,)
        The row numbers.
    unit : float, default=1.0
        The value that 1 stands for, if the array contains 16-bit integers; products are then in float32.
    """

    Z: NDArray[Any]
    numbers: RowNumbers
    unit: float = 1.0

    @classmethod
    def all(cls, Z: NDArray[Any]) -> ChosenRows:
        """Return all rows of an array."""
        return cls(Z, np.arange(len(Z)))

    def part(self, start: int, count: int) -> ChosenRows:
        """Return some of them, counted from the first."""
        return self._replace(numbers=self.numbers[start : start + count])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of products."""
        return np.dtype(np.float32) if self.Z.dtype == np.uint16 else self.Z.dtype

    def values(self) -> NDArray[Any]:
        """Return the rows themselves, as a view if no row is left out between the first and the last."""
        numbers = self.numbers
        if not len(numbers) or numbers[-1] - numbers[0] == len(numbers) - 1:
            first = int(numbers[0]) if len(numbers) else 0
            stored = self.Z[first : first + len(numbers)]
        else:
            stored = self.Z[numbers]
        return stored if stored.dtype == self.dtype else stored * self.dtype.type(self.unit)

    def times(self, columns: NDArray[Any]) -> NDArray[Any]:
        """Return their products with columns, each of which is given as a row."""
        if not self._is_read_in_place(len(columns)):
            return self.values() @ columns.T
        out = np.empty((len(self.numbers), len(columns)), dtype=self.dtype)
        columns, width = self._in_units(columns), self.Z.shape[1]
        if width <= STRETCH:
            _core.few_columns(self.Z, self.numbers, columns, out)
            return out
        total = np.zeros_like(out)
        for some in tiles(width, STRETCH):
            _core.few_columns(self.Z[:, some], self.numbers, np.ascontiguousarray(columns[:, some]), out)
            total += out
        return total

    def add_to(self, sums: NDArray[Any], weights: NDArray[Any]) -> None:
        """Add weights' Z; rows of weight 0 cost nothing."""
        if not self._is_read_in_place(len(sums)):
            sums += weights.T @ self.values()
            return
        weights, width = np.ascontiguousarray(self._in_units(weights)), self.Z.shape[1]
        if width <= STRETCH:
            _core.add_transposed(self.Z, self.numbers, weights, sums)
            return
        for some in tiles(width, STRETCH):
            part = np.zeros((len(sums), some.stop - some.start), dtype=sums.dtype)
            _core.add_transposed(self.Z[:, some], self.numbers, weights, part)
            sums[:, some] += part

    def add_curved(
        self, sums: NDArray[Any], curvature: NDArray[Any], columns: NDArray[Any], offsets: NDArray[Any]
    ) -> NDArray[Any]:
        """Add Z' R with R = curvature * (Z columns' + offsets), and return R.

        Entries without curvature cost nothing: in a support vector machine, a row has curvature for only a few classes.
        """
        if not self._is_read_in_place(np.count_nonzero(curvature) / max(len(self.numbers), 1)):
            weights = curvature * (self.times(columns) + offsets)
            self.add_to(sums, weights)
            return weights
        part = np.zeros_like(sums)
        weights = _core.add_curved(
            self.Z, self.numbers, np.ascontiguousarray(curvature), self._in_units(columns), offsets, part
        )
        sums += self._in_units(part)
        return weights

    def _in_units(self, numbers: NDArray[Any]) -> NDArray[Any]:
        return numbers if self.unit == 1.0 else numbers * self.dtype.type(self.unit)

    def _is_read_in_place(self, columns_of_a_row: float) -> bool:
        return _core.AVAILABLE and columns_of_a_row <= FEW_COLUMNS and self.dtype in (np.float32, np.float64)
