"""Additive homogeneous kernels of histograms: chi2, intersection, Jensen-Shannon and Hellinger's."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import Array, canonical_csr
from .base import Kernel, first_entry
from .families import by_columns, column_sum, inner_products

MODERATE = (2.0**-200, 2.0**200)
"""Between these, the compiled core multiplies a few values without a loss."""
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

    _term: ClassVar[str]
    """What the compiled core knows ``coordinate`` by."""

    def _planes(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """What it looks at of rows."""
        return (X,)

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.gram_against(Y)(X)

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        compiled, extreme = by_columns(self._term, Y, planes=self._planes), _extreme_rows(Y)

        def block(X: Array) -> NDArray[np.float64]:
            values = compiled(X)
            if values is None:
                return column_sum(self.coordinate, X, Y)
            # Row by row, so that a value does not depend on what rows are beside it.
            for i in _extreme_rows(X).tolist():
                values[i] = column_sum(self.coordinate, X[i : i + 1], Y)
            for j in extreme.tolist():
                values[:, j : j + 1] = column_sum(self.coordinate, X, Y[j : j + 1])
            return values

        return block

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return np.asarray(X.sum(axis=1)).ravel()

    @property
    def takes_every_row(self) -> bool:
        return False

    def check_rows(self, X: Array) -> None:
        found = first_entry(X, lambda values: values < 0)
        if found:  # beginning as scikit-learn's own
            raise ValueError(f"Negative values in data passed to {self!r}, which takes none: {found}")


def _extreme_rows(X: Array) -> NDArray[np.int64]:
    """The dense rows with a value that is neither 0 nor moderate."""
    values = np.zeros((0, 1)) if sp.issparse(X) else X
    return np.flatnonzero((((values > 0.0) & (values < MODERATE[0])) | (values > MODERATE[1])).any(axis=1))


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

    description = "Histograms are alike where their bins are, by the harmonic mean of every pair of bins."

    _term = "chi2"

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

    description = "Histograms are alike by how much of them they share, bin by bin."

    _term = "intersection"

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

    description = "Histograms are alike where telling them apart takes many draws: the Jensen-Shannon divergence."

    _term = "jensen-shannon"

    def _planes(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        return X, np.log(np.where(X > 0.0, X, 1.0)) / math.log(4.0)

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

    description = "Histograms are alike where their bins are, by the geometric mean of every pair of bins."

    max_order = 0

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(x) * np.sqrt(y)

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return (w == 0.0).astype(np.float64)

    def step(self, order: int) -> float:
        return 1.0

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        roots = _roots(Y)
        return lambda X: inner_products(_roots(X), roots)


def _roots(X: Array) -> Any:
    return np.sqrt(canonical_csr(X) if sp.issparse(X) else X)
