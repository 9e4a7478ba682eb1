"""The region of the training rows of a model: a box, found in a pass that is needed anyway.

The box extends from the smallest to the largest value of every prepared column. The distance of a row is its distance
from the box as a share of the box's diagonal: a distance in all columns together, like that of radial kernels, so that
a row slightly outside in one of many columns does not count as an outlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import min_max_axis

from ..._array import Array
from ...data.table_rows import Chunk
from ...kernels import Kernel, Linear, Polynomial
from ...kernels.algebra import Scaled, Sum

Vector = NDArray[np.float64]

MARGIN = 0.1
"""The margin beyond which a row extrapolates, also used for predictions around the targets, as a share of the range."""


class Region(NamedTuple):
    """The box of rows: the smallest and the largest value of every column."""

    least: Vector
    most: Vector

    @classmethod
    def of(cls, X: Array) -> Region:
        """Return the region of rows, dense or CSR, of which there is at least one."""
        least, most = min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
        return cls(np.asarray(least, dtype=np.float64), np.asarray(most, dtype=np.float64))

    def joined(self, other: Region | None) -> Region:
        """Return the smallest box around both."""
        if other is None:
            return self
        return Region(np.minimum(self.least, other.least), np.maximum(self.most, other.most))

    def widened(self) -> Region:
        """Return the box with a margin on either side."""
        with np.errstate(over="ignore"):
            margin = MARGIN * (self.most - self.least)
            return Region(self.least - margin, self.most + margin)

    def nearest(self, X: Array) -> Array:
        """Return rows, dense or CSR, with those outside the box moved to its surface; entries that CSR omits stay 0."""
        if sp.issparse(X):
            values = np.clip(X.data, self.least[X.indices], self.most[X.indices]).astype(X.dtype)
            return X if np.array_equal(values, X.data) else type(X)((values, X.indices, X.indptr), shape=X.shape)
        rows = self._rows_outside(X)
        if len(rows) == 0:
            return X
        moved = X.copy()
        moved[rows] = np.clip(X[rows], self.least, self.most)
        return moved

    def distances(self, X: Array) -> Vector:
        """Return how far rows, dense or CSR, are outside the box, as a share of its diagonal, from 0 to infinity."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ranges = self.most - self.least
            unit = float(ranges.max(initial=0.0)) or 1.0
            if sp.issparse(X):
                squares = self._sparse_squares(X, unit)
            else:
                rows, squares = self._rows_outside(X), np.zeros(len(X))
                outside = self._outside(X[rows], slice(None)) / unit
                squares[rows] = np.einsum("ij,ij->i", outside, outside)
            shares = np.sqrt(np.maximum(squares, 0.0) / float(((ranges / unit) ** 2).sum()))
        return np.where(squares > 0.0, shares, 0.0)

    def _rows_outside(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of the dense rows that are not inside, which are few, found in the precision of the rows.

        A number of this precision is below the box if and only if it is below the first one that is not.
        """
        least, most = self.least.astype(X.dtype), self.most.astype(X.dtype)
        least = np.where(least < self.least, np.nextafter(least, X.dtype.type(np.inf)), least)
        most = np.where(most > self.most, np.nextafter(most, X.dtype.type(-np.inf)), most)
        return np.flatnonzero(((least > X) | (most < X)).any(axis=1))

    def _outside(self, values: Any, columns: Any) -> Vector:
        """Return how far entries of these columns are outside the ranges of their columns."""
        return np.maximum(np.maximum(self.least[columns] - values, values - self.most[columns]), 0.0)

    def _sparse_squares(self, X: Array, unit: float) -> Vector:
        """Return squared distances, computed from the stored entries and the distance of a row of zeros."""
        zeros = (self._outside(0.0, slice(None)) / unit) ** 2
        stored = (self._outside(X.data, X.indices) / unit) ** 2
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        without = np.bincount(rows, stored - zeros[X.indices], minlength=X.shape[0])
        found = zeros.sum() + without
        # The difference of two equal sums is only rounding.
        return np.where(found > 1e-12 * zeros.sum(), found, 0.0)


class Extremes:
    """Observes rows in a pass, to find the region of those with positive weight.

    Parameters
    ----------
    numbers : callable or None
        Converts the targets of rows to numbers, one column per target, whose region is found too; None for none.
    """

    def __init__(self, numbers: Callable[[Any], Any] | None = None):
        self.numbers = numbers
        self.n_seen = 0
        self.rows: Region | None = None
        self.targets: Region | None = None

    def watched(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks unchanged and observe them; those that were seen in an earlier pass add nothing."""
        for chunk in chunks:
            if chunk.first <= self.n_seen < chunk.last:
                self._update(chunk)
                self.n_seen = chunk.last
            yield chunk

    def joined(self, later: Extremes) -> Extremes:
        """Return the region of both sets of rows."""
        both = Extremes(self.numbers)
        both.n_seen = self.n_seen + later.n_seen
        both.rows = later.rows if self.rows is None else self.rows.joined(later.rows)
        both.targets = later.targets if self.targets is None else self.targets.joined(later.targets)
        return both

    def take_over(self, other: Extremes) -> None:
        """Replace the rows that were seen by the rows that another has seen."""
        self.n_seen, self.rows, self.targets = other.n_seen, other.rows, other.targets

    def saw(self, n_rows: int) -> bool:
        """Return whether at least this many rows were shown: resumed sums start later."""
        return self.n_seen >= n_rows

    def _update(self, chunk: Chunk) -> None:
        X, y, counts = chunk.X, chunk.y, None if chunk.weight is None else chunk.weight > 0.0
        if counts is not None and not counts.all():
            if not counts.any():
                return
            X, y = X[counts], None if y is None else np.asarray(y)[counts]
        self.rows = Region.of(X).joined(self.rows)
        if self.numbers is not None and y is not None:
            targets = self.numbers(y)
            self.targets = Region.of(targets.reshape(len(targets), -1)).joined(self.targets)


def fallback(distances: Vector) -> Vector:
    """Return the factor of a prediction at these distances from the region: 1 within the margin, and smaller beyond."""
    return np.minimum(1.0, MARGIN / np.maximum(distances, MARGIN))


def has_linear_term(kernel: Kernel) -> bool:
    """Return whether a kernel is linear, or a sum with a linear kernel, so that trends of predictions continue."""
    if isinstance(kernel, Sum):
        return has_linear_term(kernel.left) or has_linear_term(kernel.right)
    if isinstance(kernel, Scaled):
        return has_linear_term(kernel.kernel)
    return isinstance(kernel, Linear) or (isinstance(kernel, Polynomial) and kernel.degree == 1)


def decays(kernel: Kernel) -> bool:
    """Return whether a kernel depends on the difference of two rows, so that nothing is known far from all rows."""
    return isinstance(kernel, Kernel) and kernel.is_shift_invariant
