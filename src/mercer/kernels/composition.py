"""Kernels of kernels: a function of another kernel's value or of its distance."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import Array
from .._random import Stream
from .algebra import Product, Scaled, Sum, settle_kernel
from .base import Kernel, operation, row_values
from .families import DotProduct

SERIES_LENGTHS = (512, 4096, 32768)
"""The numbers of terms of an infinite series that are tried for the weights of a spectrum, until they suffice."""


WRONG = 1e-4
"""The largest fraction of k(x, x) that a kernel of distances may lose to rounding before it is refused."""


def _bracketed(outer: Kernel) -> str:
    return f"({outer!r})" if isinstance(outer, Sum | Product | Scaled) else repr(outer)


def _check_numbers(outer: Kernel) -> None:
    try:
        outer.check_resolved()
    except ValueError as error:
        message = f"{outer!r} cannot learn its bandwidth from rows, as it is applied to kernel values: give a number"
        raise ValueError(message) from error


@operation
@dataclass(frozen=True, repr=False)
class Composition(Kernel):
    """A function of another kernel's value, k(x, y) = f(inner(x, y)), for a dot-product kernel f(<x, y>).

    Usually written ``outer.of(inner)``.

    Parameters
    ----------
    outer : Kernel or str
        The dot-product kernel f, or text that :func:`parse` understands.
    inner : Kernel or str
        Any kernel.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Polynomial
    >>> Polynomial(2, coef0=1.0).of(Gaussian(0.5))
    Polynomial(degree=2, gamma=1.0, coef0=1.0).of(Gaussian(gamma=0.5))
    """

    description = "A power series in the value of another kernel."

    outer: Kernel
    inner: Kernel

    def __post_init__(self) -> None:
        settle_kernel(self, "outer")
        if not self.outer.is_dot_product:
            raise TypeError(
                f"only a dot-product kernel can be applied to another kernel's values, found {self.outer!r}"
            )
        settle_kernel(self, "inner")
        _check_numbers(self.outer)

    def __repr__(self) -> str:
        return f"{_bracketed(self.outer)}.of({self.inner!r})"

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.outer.value(self.inner.gram(X, Y))

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return self.outer.value(self.inner.diagonal(X))

    @property
    def takes_every_row(self) -> bool:
        return self.inner.takes_every_row and not np.isfinite(self.outer.radius)

    def check_rows(self, X: Array) -> None:
        self.inner.check_rows(X)
        if np.isfinite(self.outer.radius):
            self.outer.check_arguments(row_values(self.inner.diagonal, X), "inner kernel value")

    @property
    def is_shift_invariant(self) -> bool:
        return self.inner.is_shift_invariant

    @property
    def has_spectrum(self) -> bool:
        return self.inner.has_spectrum

    @property
    def is_rotation_invariant(self) -> bool:
        return self.inner.is_rotation_invariant

    @property
    def chart(self) -> Hashable:
        return self.inner.chart

    def coordinates(self, X: Array) -> Array:
        return self.inner.coordinates(X)

    def coordinate_slopes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.coordinate_slopes(X)

    @property
    def has_gradient(self) -> bool:
        return isinstance(self.outer, DotProduct) and self.outer.has_gradient and self.inner.has_gradient

    def gradients(self, X: Array, Y: Array, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        if not isinstance(self.outer, DotProduct):
            raise ValueError(f"{self.outer!r} has no derivative in closed form")
        return self.inner.gradients(X, Y, weights * self.outer.slope(self.inner.gram(X, Y)))

    def spectral_block(self, X: Array, Y: Array) -> NDArray[np.float64]:
        return self.outer.value(self.inner.spectral_block(X, Y))

    def radial(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.outer.value(self.inner.radial(squares))

    @property
    def amplitude(self) -> float:
        top = np.array([self.inner.amplitude])
        self.outer.check_arguments(top, "inner kernel value")
        return float(self.outer.value(top)[0])

    def _weights(self) -> NDArray[np.float64]:
        """Return the contribution of every degree of the outer series to the amplitude."""
        end = self.outer.max_degree
        for length in SERIES_LENGTHS if end is None else (end + 1,):
            series = self.outer.series(length)
            with np.errstate(over="ignore", invalid="ignore"):
                weights = np.where(series > 0, series * self.inner.amplitude ** np.arange(length), 0.0)
            if np.isclose(weights.sum(), self.amplitude, rtol=1e-6, atol=0.0):
                return weights
        raise ValueError(f"the terms of {self!r} do not add up to its value at 0: scale the inner kernel down")

    def series_length(self) -> int:
        """Return how many degrees of the outer series contribute to the amplitude.

        Returns
        -------
        int
            The number of degrees.
        """
        return len(self._weights())

    # A frequency of f(k) is the sum of N frequencies of k, where N is drawn with the weights of the degrees.

    def _terms(self, rng: Stream, count: int) -> sp.csr_array:
        """Return a sparse matrix of ones, a random number N in each row, that adds up draws of the inner kernel."""
        ends = np.concatenate([[0], np.cumsum(rng.child("terms").categories(self._weights(), count))])
        total = int(ends[-1])
        return sp.csr_array((np.ones(total), np.arange(total), ends), shape=(count, total))

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        terms = self._terms(rng, count)
        return terms @ self.inner.frequencies(rng.child("inner"), terms.shape[1], n_features)

    def scales(self, rng: Stream, count: int) -> NDArray[np.float64]:
        terms = self._terms(rng, count)
        return np.sqrt(terms @ self.inner.scales(rng.child("inner"), terms.shape[1]) ** 2)

    def spectral_dimension(self, n_features: int) -> int:
        raise ValueError(
            f"a frequency of {self!r} is the sum of a random number of others: it cannot be made from a fixed number "
            "of uniforms"
        )

    def spectral_moment(self, n_features: int) -> float:
        weights = self._weights()
        terms = float(weights @ np.arange(len(weights)) / weights.sum())
        return terms * self.inner.spectral_moment(n_features) if terms > 0 else 0.0


@operation
@dataclass(frozen=True, repr=False)
class DistanceComposition(Kernel):
    """A function of another kernel's distance, for a kernel g(||x - y||^2).

    The kernel is k(x, y) = g(inner(x, x) + inner(y, y) - 2 inner(x, y)): the outer kernel between the features of the
    inner one. With an additive inner kernel it is a generalised RBF kernel for histograms. Usually written
    ``outer.of_distance(inner)``.

    Parameters
    ----------
    outer : Kernel or str
        The kernel g of distances, or text that :func:`parse` understands.
    inner : Kernel or str
        Any kernel.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Polynomial
    >>> Gaussian(0.5).of_distance(Polynomial(2))
    Gaussian(gamma=0.5).of_distance(Polynomial(degree=2, gamma=1.0, coef0=0.0))
    """

    description = "Rows are similar if they are close by the distance that another kernel defines."

    outer: Kernel
    inner: Kernel

    def __post_init__(self) -> None:
        settle_kernel(self, "outer")
        if not self.outer.is_rotation_invariant:
            raise TypeError(
                f"only a function of ||x - y|| can be applied to another kernel's distance, found {self.outer!r}"
            )
        if self.outer.chart is not None:
            raise TypeError(
                f"{self.outer!r} has a bandwidth per column, but another kernel's distance has no columns: give one "
                "number, or give the inner kernel the bandwidths"
            )
        settle_kernel(self, "inner")
        _check_numbers(self.outer)

    def __repr__(self) -> str:
        return f"{_bracketed(self.outer)}.of_distance({self.inner!r})"

    def gram(self, X: Array, Y: Array) -> NDArray[np.float64]:
        norms = self.inner.diagonal(X)[:, None] + self.inner.diagonal(Y)[None, :]
        self._check_rounding(float(norms.max()))
        return self.outer.radial(np.maximum(norms - 2.0 * self.inner.gram(X, Y), 0.0))

    def _check_rounding(self, norm: float) -> None:
        """Raise a ValueError if the kernel would depend on the last digits of a distance."""
        # A mixture of Gaussians is steepest at 0, which is where an inexact distance does the most harm.
        distance = 8.0 * float(np.finfo(np.float64).eps) * norm
        top, moved = self.outer.radial(np.array([0.0, distance]))
        if not top - moved <= WRONG * top:
            raise ValueError(
                f"{self!r} loses its digits where k(x, x) + k(y, y) of the inner kernel is {norm:.1g}: its distances "
                f"are only known to {distance:.1g}; scale the rows down, or give a wider outer kernel"
            )

    def diagonal(self, X: Array) -> NDArray[np.float64]:
        return self.outer.radial(np.zeros(X.shape[0]))

    @property
    def takes_every_row(self) -> bool:
        return self.inner.takes_every_row

    def check_rows(self, X: Array) -> None:
        self.inner.check_rows(X)
