"""Skewed kernels for histograms, which are shift-invariant in log(x + c)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import Array, canonical_csr, namespace
from .._checks import check_positive
from .._random import Stream
from .base import Kernel, first_entry
from .families import by_columns, column_product, manhattan_distances

LONGEST = 300.0
"""Exponentials of coordinates within this limit, and sums and products of a few, stay within the range of float64."""


@dataclass(frozen=True, repr=False)
class _Skewed(Kernel):
    """Base class of kernels that are shift-invariant in log(x_i + c) and defined for x_i > -c."""

    skewedness: float = 1.0

    has_spectrum = True

    def __post_init__(self) -> None:
        check_positive("skewedness", self.skewedness)

    @property
    def amplitude(self) -> float:
        return 1.0

    @property
    def chart(self) -> float:
        return float(self.skewedness)

    def coordinates(self, X: Array) -> Array:
        # log(x + c) - log(c), since a constant cancels in differences: zeros stay zeros, and sparse rows stay sparse.
        if sp.issparse(X):
            return (canonical_csr(X) * (1.0 / self.skewedness)).log1p()
        return namespace(X).log1p(X * (1.0 / self.skewedness))

    def coordinate_slopes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / (X + self.skewedness)

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.spectral_block(self.coordinates(X), self.coordinates(Y))

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return np.ones(X.shape[0])

    @property
    def takes_every_row(self) -> bool:
        return False

    def check_rows(self, X: Array) -> None:
        # Computed like coordinates, so that an entry just above -c does not become the logarithm of 0.
        found = first_entry(X, lambda values: ~(values * (1.0 / self.skewedness) > -1.0))
        if found:
            raise ValueError(f"{self!r} needs entries above {-self.skewedness:g}; {found}")

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        return self.quantiles(rng.uniforms((count, n_features)), n_features)

    def spectral_dimension(self, n_features: int) -> int:
        return n_features


def _exponentials(X: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the values that turn cosh((u - v) / 2), for coordinates u and v, into sums and products."""
    return np.exp(X), np.exp(-0.5 * X) * math.sqrt(0.5)


@dataclass(frozen=True, repr=False)
class SkewedChi2(_Skewed):
    """Skewed chi-squared kernel, k(x, y) = prod 2 sqrt((x_i + c)(y_i + c)) / (x_i + y_i + 2c).

    Parameters
    ----------
    skewedness : float, default=1.0
        The positive constant c; all entries must be greater than -c.

    References
    ----------
    Li, Ionescu and Sminchisescu, Random Fourier approximations for skewed multiplicative histogram kernels, DAGM 2010.

    Examples
    --------
    >>> from mercer.kernels import SkewedChi2
    >>> SkewedChi2()([[0.0, 1.0]], [[0.0, 1.0], [3.0, 1.0]]).round(3)
    array([[1. , 0.8]])
    """

    description = "Histograms are similar if they are close in every bin, measured on a logarithmic scale."

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        values = None
        if max(abs(X).max(), abs(Y).max()) < LONGEST:
            values = by_columns("skewed-chi2", Y, planes=_exponentials)(X)
        return 1.0 / column_product(lambda delta: np.cosh(delta / 2.0), X, Y) if values is None else values

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        # The density of each coordinate is sech(pi w).
        return np.log(np.tan(np.pi / 2.0 * points)) / np.pi

    def spectral_moment(self, n_features: int) -> float:
        return n_features / 4.0


@dataclass(frozen=True, repr=False)
class SkewedIntersection(_Skewed):
    """Skewed intersection kernel, k(x, y) = prod min(x_i + c, y_i + c) / sqrt((x_i + c)(y_i + c)).

    Parameters
    ----------
    skewedness : float, default=1.0
        The positive constant c; all entries must be greater than -c.

    References
    ----------
    Li, Ionescu and Sminchisescu, Random Fourier approximations for skewed multiplicative histogram kernels, DAGM 2010.

    Examples
    --------
    >>> from mercer.kernels import SkewedIntersection
    >>> SkewedIntersection()([[0.0, 1.0]], [[0.0, 1.0], [3.0, 1.0]]).round(3)
    array([[1. , 0.5]])
    """

    description = "Histograms are similar if every bin is, on a logarithmic scale; similarity falls sharply."

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return np.exp(-0.5 * manhattan_distances(X, Y))

    def quantiles(self, points: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        # Each coordinate is Cauchy with scale 1/2.
        return 0.5 * np.tan(np.pi * (points - 0.5))

    def spectral_moment(self, n_features: int) -> float:
        return np.inf
