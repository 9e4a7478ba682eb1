"""Additive homogeneous kernels of histograms: chi2, intersection, Jensen-Shannon and Hellinger's."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import canonical_csr, to_numpy
from ._base import Kernel
from ._families import inner_products

CACHED_ELEMENTS = 1 << 15
"""Pairs of entries that are looked at together, few enough to stay in cache."""
SMALLEST = float(np.finfo(np.float64).tiny)


class Additive(Kernel):
    r"""k(x, y) = sum of k(x_i, y_i) over the columns, for rows without negative values.

    In one column, :math:`k(x, y) = \sqrt{xy}\, K(\log(y / x))`: homogeneous of degree 1, x itself at y = x, 0 where
    one of the two is 0. K is the Fourier transform of ``spectrum``, which a map samples at multiples of ``step``.
    """

    domain_is_non_negative = True

    @property
    def max_order(self) -> int | None:
        """The last multiple of the step at which the spectrum is not 0; None where it does not end."""
        return None

    @abstractmethod
    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """k of two positive numbers."""

    @abstractmethod
    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """The density kappa(w) with K(l) = integral of kappa(w) exp(i w l)."""

    @abstractmethod
    def step(self, order: int) -> float:
        """The step at which the samples 0, L, ..., order L of the spectrum serve best."""

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        gram = np.zeros((X.shape[0], Y.shape[0]))
        X, Y = _by_column(X), _by_column(Y)
        for column in np.intersect1d(_occupied(X), _occupied(Y), assume_unique=True).tolist():
            (rows, x), (others, y) = _entries(X, column), _entries(Y, column)
            full = len(rows) == gram.shape[0] and len(others) == gram.shape[1]
            step = max(1, CACHED_ELEMENTS // max(1, len(y)))
            for start in range(0, len(x), step):
                part = slice(start, start + step)
                values = self.coordinate(x[part, None], y)
                gram[part if full else np.ix_(rows[part], others)] += values
        return gram

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(X.sum(axis=1)).ravel()

    def check_rows(self, X: Any) -> None:
        X = to_numpy(X)
        X = canonical_csr(X) if sp.issparse(X) else X
        values = X.data if sp.issparse(X) else X.ravel()
        if values.size == 0 or values.min() >= 0:
            return
        place = int(np.argmax(values < 0))
        if sp.issparse(X):
            row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
        else:
            row, column = divmod(place, X.shape[1])
        raise ValueError(  # beginning as scikit-learn's own
            f"Negative values in data passed to {self!r}, which takes none: "
            f"row {row}, column {column} has {values[place]:g}"
        )


def _by_column(X: Any) -> Any:
    """The matrix in a form whose columns are at hand, without stored zeros."""
    if not sp.issparse(X):
        return X
    X = canonical_csr(X).tocsc()
    X.eliminate_zeros()
    return X


def _occupied(X: Any) -> NDArray[np.int64]:
    """The columns that are not 0."""
    return np.flatnonzero(np.diff(X.indptr) if sp.issparse(X) else X.any(axis=0))


def _entries(X: Any, column: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The rows at which a column is not 0, and its values there."""
    if sp.issparse(X):
        part = slice(X.indptr[column], X.indptr[column + 1])
        return X.indices[part], X.data[part]
    rows = np.flatnonzero(X[:, column])
    return rows, X[rows, column]


def _hyperbolic_secant(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / cosh(z), without overflow on the way to 0."""
    decay = np.exp(-np.abs(z))
    return 2.0 * decay / (1.0 + decay**2)


@dataclass(frozen=True, repr=False)
class AdditiveChi2(Additive):
    """k(x, y) = sum 2 x_i y_i / (x_i + y_i), for rows without negative values.

    The usual kernel of histograms. scikit-learn's ``additive_chi2_kernel`` is 2 k(x, y) - k(x, x) - k(y, y).

    >>> AdditiveChi2()([[1.0, 3.0]], [[1.0, 0.0], [3.0, 3.0]])
    array([[1. , 4.5]])
    """

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        # In this order neither the product nor the sum of two huge or two tiny values is ever formed.
        low, high = np.minimum(x, y), np.maximum(x, y)
        return low * (2.0 / (1.0 + low / high))

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return _hyperbolic_secant(np.pi * w)

    def step(self, order: int) -> float:
        return 0.62 if order == 1 else 1.0 / math.sqrt(order + 2.0)


@dataclass(frozen=True, repr=False)
class Intersection(Additive):
    """k(x, y) = sum min(x_i, y_i), for rows without negative values: the histogram intersection.

    Its spectrum has a heavy tail, so that a map needs many more features than for the other additive kernels.

    >>> Intersection()([[1.0, 3.0]], [[1.0, 0.0], [3.0, 3.0]])
    array([[1., 4.]])
    """

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.minimum(x, y)

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2.0 / (np.pi * (1.0 + 4.0 * w**2))

    def step(self, order: int) -> float:
        return 1.0 / (0.97 + 0.25 * math.log(order))


@dataclass(frozen=True, repr=False)
class JensenShannon(Additive):
    """k(x, y) = sum (x_i log2((x_i + y_i) / x_i) + y_i log2((x_i + y_i) / y_i)) / 2, for rows without negative values.

    One less the Jensen-Shannon divergence, in bits, of two probability distributions.

    >>> JensenShannon()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.689]])
    """

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = np.minimum(x, y), np.maximum(x, y)
        ratio = np.maximum(low / high, SMALLEST)  # which may be too small a number to divide by
        grown = np.log1p(ratio)
        return low * ((grown / ratio + grown + np.abs(np.log(x) - np.log(y))) / math.log(4.0))

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2.0 / math.log(4.0) * _hyperbolic_secant(np.pi * w) / (1.0 + 4.0 * w**2)

    def step(self, order: int) -> float:
        return 1.0 / (1.06 * math.sqrt(order) + 1.15)


@dataclass(frozen=True, repr=False)
class Hellinger(Additive):
    """k(x, y) = sum sqrt(x_i y_i), for rows without negative values: the Bhattacharyya coefficient.

    The linear kernel of the roots, so that its map is exact.

    >>> Hellinger()([[1.0, 4.0]], [[1.0, 0.0], [9.0, 4.0]])
    array([[1., 7.]])
    """

    max_order = 0

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(x) * np.sqrt(y)

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return (w == 0.0).astype(np.float64)

    def step(self, order: int) -> float:
        return 1.0

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return inner_products(*(np.sqrt(canonical_csr(M) if sp.issparse(M) else M) for M in (X, Y)))
