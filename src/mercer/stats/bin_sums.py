"""Sums of rows in bins of equal size, from which statistics of permuted bins are computed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Summed = Callable[[int, int, int], NDArray]
"""A function of the first row, ``count`` and ``size`` that returns the sums of ``count`` bins of ``size`` rows."""


class BinSums:
    """Sums of consecutive rows in bins whose size is a power of two.

    There are at most ``2 * most`` bins: when one more would be needed, neighbours are joined, so that bins are twice as
    large. Rows that do not fill a bin are summed in smaller ones, at most one for every power of two, like digits of a
    binary number; two of the same size form one of the next size.

    Parameters
    ----------
    width : int
        The number of values per row.
    most : int
        Half the largest number of bins.

    Attributes
    ----------
    size : int
        The number of rows in a bin.
    bins : ndarray of shape (n_bins, width)
        The sums of the bins.
    rest : dict of int to ndarray of shape (width,)
        The sums of the smaller bins, by their sizes.

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
        """The number of rows added so far."""
        return len(self.bins) * self.size + sum(self.rest)

    def total(self) -> Matrix:
        """Return the sum of all rows."""
        return self.bins.sum(axis=0) + sum(self.rest.values(), np.zeros(self.bins.shape[1]))

    def parts(self) -> tuple[Matrix, Matrix]:
        """Return the sums of all bins, including the small ones, and the number of rows in each."""
        bins = np.concatenate([self.bins, *(total[None, :] for total in self.rest.values())])
        return bins, np.array([*(len(self.bins) * [self.size]), *self.rest], dtype=np.float64)

    def add(self, n_rows: int, summed: Summed) -> None:
        """Add rows, given by the sums of their bins."""
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
        """Add the rows of another object."""
        apart = other.at_size(max(self.size, other.size))
        while self.size < apart.size:
            self._join()
        self.bins = np.concatenate([self.bins, apart.bins])
        for size, total in apart.rest.items():
            self._carry(size, total)
        while len(self.bins) > 2 * self._most:
            self._join()

    def at_size(self, size: int) -> BinSums:
        """Return the sums in bins of this size, which must not be smaller than the current size."""
        other = BinSums(self.bins.shape[1], self._most)
        other.size, other.bins, other.rest = self.size, self.bins, dict(self.rest)
        while other.size < size:
            other._join()
        return other

    def _join(self) -> None:
        """Join neighbours, so that bins are twice as large."""
        pairs, odd = divmod(len(self.bins), 2)
        last = self.bins[2 * pairs :]
        self.bins = self.bins[: 2 * pairs].reshape(pairs, 2, self.bins.shape[1]).sum(axis=1)
        self.size *= 2
        if odd:
            self._carry(self.size // 2, last[0])

    def _carry(self, size: int, total: Matrix) -> None:
        """Add a small bin; two of the same size form one of the next size."""
        while size < self.size and size in self.rest:
            total, size = total + self.rest.pop(size), 2 * size
        if size == self.size:
            self.bins = np.concatenate([self.bins, total[None, :]])
        else:
            self.rest[size] = total
