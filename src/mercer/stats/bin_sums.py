"""Sums of rows in bins of equal size: all that a permutation of bins needs of any number of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Summed = Callable[[int, int, int], NDArray]
"""The sums of ``count`` bins of ``size`` rows, given the number of the first row, ``count`` and ``size``."""


class BinSums:
    """Sums of consecutive rows in bins whose size is a power of two.

    There are at most ``2 * most`` bins: when one more would be needed, neighbours are joined and bins are twice as
    large. Rows that do not fill a bin are summed in smaller ones, at most one for every power of two, like digits of a
    binary number; two of the same size make one of the next.

    Parameters
    ----------
    width : int
        How many numbers a row has.
    most : int

    Attributes
    ----------
    size : int
        Rows of a bin.
    bins : ndarray of shape (n_bins, width)
    rest : dict of int to ndarray of shape (width,)
        The smaller bins, by their sizes.

    Examples
    --------
    >>> sums = BinSums(1, most=2)
    >>> for row in range(11):
    ...     sums.add(1, lambda first, count, size: np.full((count, 1), float(row)))
    >>> sums.size, sums.bins.tolist(), {size: float(total[0]) for size, total in sums.rest.items()}
    (4, [[6.0], [22.0]], {2: 17.0, 1: 10.0})
    """

    def __init__(self, width: int, most: int):
        self.size = 1
        self.bins: Matrix = np.zeros((0, width))
        self.rest: dict[int, Matrix] = {}
        self._most = most

    @property
    def n_rows(self) -> int:
        """How many rows were added."""
        return len(self.bins) * self.size + sum(self.rest)

    def total(self) -> Matrix:
        """The sum of all rows."""
        return self.bins.sum(axis=0) + sum(self.rest.values(), np.zeros(self.bins.shape[1]))

    def parts(self) -> tuple[Matrix, Matrix]:
        """The sums of all bins, small ones too, and the number of rows of each."""
        bins = np.concatenate([self.bins, *(total[None, :] for total in self.rest.values())])
        return bins, np.array([*(len(self.bins) * [self.size]), *self.rest], dtype=np.float64)

    def add(self, n_rows: int, summed: Summed) -> None:
        """Add rows, which are given by the sums of their bins."""
        while n_rows > (2 * self._most - len(self.bins)) * self.size:
            self._join()
        count = n_rows // self.size
        if count:
            self.bins = np.concatenate([self.bins, summed(0, count, self.size)])
        first, size = count * self.size, self.size
        while first < n_rows:
            size //= 2
            if n_rows - first >= size:
                self._carry(size, summed(first, 1, size)[0].astype(np.float64))
                first += size

    def merge(self, other: BinSums) -> None:
        """Add the rows of another one."""
        apart = other.at_size(max(self.size, other.size))
        while self.size < apart.size:
            self._join()
        self.bins = np.concatenate([self.bins, apart.bins])
        for size, total in apart.rest.items():
            self._carry(size, total)
        while len(self.bins) > 2 * self._most:
            self._join()

    def at_size(self, size: int) -> BinSums:
        """The same rows in bins of this size, which is not below the present one."""
        other = BinSums(self.bins.shape[1], self._most)
        other.size, other.bins, other.rest = self.size, self.bins, dict(self.rest)
        while other.size < size:
            other._join()
        return other

    def _join(self) -> None:
        """Make bins twice as large."""
        pairs, odd = divmod(len(self.bins), 2)
        last = self.bins[2 * pairs :]
        self.bins = self.bins[: 2 * pairs].reshape(pairs, 2, self.bins.shape[1]).sum(axis=1)
        self.size *= 2
        if odd:
            self._carry(self.size // 2, last[0])

    def _carry(self, size: int, total: Matrix) -> None:
        """Add a small bin; two of a size become one of the next."""
        while size < self.size and size in self.rest:
            total, size = total + self.rest.pop(size), 2 * size
        if size == self.size:
            self.bins = np.concatenate([self.bins, total[None, :]])
        else:
            self.rest[size] = total
