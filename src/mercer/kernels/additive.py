"""Additive homogeneous kernels for histograms: chi-squared, intersection, Jensen-Shannon and Hellinger."""

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
"""Within these limits the compiled core multiplies a few values without overflow or underflow."""
SMALLEST = float(np.finfo(np.float64).tiny)


class Additive(Kernel):
    r"""Base class of kernels that sum k(x_i, y_i) over the columns of rows without negative values.

    In one column, :math:`k(x, y) = \sqrt{xy}\, K(\log(y / x))`: it is homogeneous of degree 1, equals x at y = x and is
    0 if either value is 0. K is the Fourier transform of ``spectrum``, which a map samples at multiples of ``step``.
    """

    domain_is_non_negative = True

    @property
    def max_order(self) -> int | None:
        """The last multiple of the step at which the spectrum is nonzero, or None if there is no last one."""
        return None

    @abstractmethod
    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute k of pairs of positive numbers.

        Parameters
        ----------
        x : ndarray
            Positive numbers.
        y : ndarray
            Positive numbers that broadcast against x.

        Returns
        -------
        ndarray
            The values k(x, y).
        """

    @abstractmethod
    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the density kappa(w) for which K(l) is the integral of kappa(w) exp(i w l).

        Parameters
        ----------
        w : ndarray
            Frequencies.

        Returns
        -------
        ndarray
            The densities, in the shape of w.
        """

    @abstractmethod
    def step(self, order: int) -> float:
        """Return the best step L for the samples 0, L, ..., order L of the spectrum.

        Parameters
        ----------
        order : int
            The number of samples beyond 0.

        Returns
        -------
        float
            The step.
        """

    _term: ClassVar[str]
    """The compiled core's name for ``coordinate``."""

    def _planes(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the arrays that the compiled core reads for these rows: their values, or functions of these."""
        return (X,)

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.gram_against(Y)(X)

    def gram_against(self, Y: Array) -> Callable[[Any], NDArray[np.float64]]:
        compiled, extreme = by_columns(self._term, Y, planes=self._planes), _extreme_rows(Y)

        def block(X: Array) -> NDArray[np.float64]:
            values = compiled(X)
            if values is None:
                return column_sum(self.coordinate, X, Y)
            # Row by row, so that a value does not depend on the other rows in the block.
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
        if found:  # the message starts like scikit-learn's
            raise ValueError(f"Negative values in data passed to {self!r}, which takes none: {found}")


def _extreme_rows(X: Array) -> NDArray[np.int64]:
    """Return the dense rows that contain a value which is neither 0 nor moderate."""
    values = np.zeros((0, 1)) if sp.issparse(X) else X
    return np.flatnonzero((((values > 0.0) & (values < MODERATE[0])) | (values > MODERATE[1])).any(axis=1))


def _hyperbolic_secant(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute 1 / cosh(z) without overflow as it approaches 0."""
    decay = np.exp(-np.abs(z))
    return 2.0 * decay / (1.0 + decay**2)


@dataclass(frozen=True, repr=False)
class AdditiveChi2(Additive):
    """Additive chi-squared kernel, k(x, y) = sum 2 x_i y_i / (x_i + y_i).

    The usual kernel for histograms; rows must not contain negative values.

    Notes
    -----
    In terms of this kernel, scikit-learn's ``additive_chi2_kernel`` is 2 k(x, y) - k(x, x) - k(y, y).

    References
    ----------
    Vedaldi and Zisserman, Efficient additive kernels via explicit feature maps, IEEE TPAMI 2012.

    Examples
    --------
    >>> AdditiveChi2()([[1.0, 3.0]], [[1.0, 0.0], [3.0, 3.0]])
    array([[1. , 4.5]])
    """

    description = "Adds up the harmonic mean of corresponding bins: the usual similarity of histograms."

    _term = "chi2"

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        # In this order, neither the product nor the sum of two huge or two tiny values is formed.
        low, high = np.minimum(x, y), np.maximum(x, y)
        return low * (2.0 / (1.0 + low / high))

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return _hyperbolic_secant(np.pi * w)

    def step(self, order: int) -> float:
        return 0.62 if order == 1 else 1.0 / math.sqrt(order + 2.0)


@dataclass(frozen=True, repr=False)
class Intersection(Additive):
    """Histogram intersection kernel, k(x, y) = sum min(x_i, y_i).

    Rows must not contain negative values. The spectrum has a heavy tail, so a map needs many more features than for
    the other additive kernels.

    Examples
    --------
    >>> Intersection()([[1.0, 3.0]], [[1.0, 0.0], [3.0, 3.0]])
    array([[1., 4.]])
    """

    description = "Adds up, bin by bin, how much two histograms overlap."

    _term = "intersection"

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.minimum(x, y)

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2.0 / (np.pi * (1.0 + 4.0 * w**2))

    def step(self, order: int) -> float:
        return 1.0 / (0.97 + 0.25 * math.log(order))


@dataclass(frozen=True, repr=False)
class JensenShannon(Additive):
    r"""Jensen-Shannon kernel of histograms.

    Rows must not contain negative values. Between two probability distributions it is 1 minus their Jensen-Shannon
    divergence in bits.

    Notes
    -----
    .. math::
        k(x, y) = \frac{1}{2} \sum_i \left( x_i \log_2 \frac{x_i + y_i}{x_i} + y_i \log_2 \frac{x_i + y_i}{y_i} \right)

    Examples
    --------
    >>> JensenShannon()([[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]).round(3)
    array([[1.   , 0.689]])
    """

    description = "Histograms are similar if it takes many draws to tell them apart: the Jensen-Shannon divergence."

    _term = "jensen-shannon"

    def _planes(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        return X, np.log(np.where(X > 0.0, X, 1.0)) / math.log(4.0)

    def coordinate(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = np.minimum(x, y), np.maximum(x, y)
        ratio = np.maximum(low / high, SMALLEST)  # the ratio may be too small to divide by
        grown = np.log1p(ratio)
        return low * ((grown / ratio + grown + np.abs(np.log(x) - np.log(y))) / math.log(4.0))

    def spectrum(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2.0 / math.log(4.0) * _hyperbolic_secant(np.pi * w) / (1.0 + 4.0 * w**2)

    def step(self, order: int) -> float:
        return 1.0 / (1.06 * math.sqrt(order) + 1.15)


@dataclass(frozen=True, repr=False)
class Hellinger(Additive):
    """Hellinger kernel, k(x, y) = sum sqrt(x_i y_i), also known as the Bhattacharyya coefficient.

    Rows must not contain negative values. It is the linear kernel of the square roots, so its map is exact.

    Examples
    --------
    >>> Hellinger()([[1.0, 4.0]], [[1.0, 0.0], [9.0, 4.0]])
    array([[1., 7.]])
    """

    description = "Adds up the geometric mean of corresponding bins of two histograms."

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
