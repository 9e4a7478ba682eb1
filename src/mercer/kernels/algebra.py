"""Kernels made of kernels: sums, positive multiples, products, and compositions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._array import to_numpy
from .._checks import check_positive
from .._random import Stream
from ._base import Kernel, format_value

SERIES_LENGTHS = (512, 4096, 32768)
"""How far a series without end is followed where a spectral law needs its weights, if the shorter does not do."""


def _check_kernel(name: str, value: Any) -> None:
    if not isinstance(value, Kernel):
        raise TypeError(f"{name} must be a kernel of mercer.kernels, found {value!r}")


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels, evaluated on the same rows."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _check_kernel("left", self.left)
        _check_kernel("right", self.right)

    @property
    def is_dot_product(self) -> bool:
        return self.left.is_dot_product and self.right.is_dot_product

    @property
    def is_shift_invariant(self) -> bool:
        return self.left.is_shift_invariant and self.right.is_shift_invariant

    @property
    def radius(self) -> float:
        return min(self.left.radius, self.right.radius)

    def check_rows(self, X: Any) -> None:
        self.left.check_rows(X)
        self.right.check_rows(X)


@dataclass(frozen=True, repr=False)
class Sum(_Pair):
    """k(x, y) = left(x, y) + right(x, y): the features of both, side by side.

    >>> from mercer.kernels import Gaussian, Linear
    >>> 0.7 * Gaussian(0.5) + Linear()
    0.7 * Gaussian(gamma=0.5) + Linear()
    """

    def __repr__(self) -> str:
        right = f"({self.right!r})" if isinstance(self.right, Sum) else repr(self.right)
        return f"{self.left!r} + {right}"

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.left._block(X, Y) + self.right._block(X, Y)

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        return self.left._diagonal(X) + self.right._diagonal(X)

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.value(t) + self.right.value(t)

    @property
    def max_degree(self) -> int | None:
        left, right = self.left.max_degree, self.right.max_degree
        return None if left is None or right is None else max(left, right)

    def series(self, count: int) -> NDArray[np.float64]:
        return self.left.series(count) + self.right.series(count)

    @property
    def amplitude(self) -> float:
        return self.left.amplitude + self.right.amplitude

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        from_left = rng.child("side").uniforms((count, 1)) < self.left.amplitude / self.amplitude
        left = self.left.frequencies(rng.child("left"), count, n_features)
        return np.where(from_left, left, self.right.frequencies(rng.child("right"), count, n_features))


@dataclass(frozen=True, repr=False)
class Product(_Pair):
    """k(x, y) = left(x, y) right(x, y): the tensor product of both features."""

    def __repr__(self) -> str:
        left = f"({self.left!r})" if isinstance(self.left, Sum) else repr(self.left)
        right = f"({self.right!r})" if isinstance(self.right, Sum | Product | Scaled) else repr(self.right)
        return f"{left} * {right}"

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.left._block(X, Y) * self.right._block(X, Y)

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        return self.left._diagonal(X) * self.right._diagonal(X)

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.left.value(t) * self.right.value(t)

    @property
    def max_degree(self) -> int | None:
        left, right = self.left.max_degree, self.right.max_degree
        return None if left is None or right is None else left + right

    def series(self, count: int) -> NDArray[np.float64]:
        return np.convolve(self.left.series(count), self.right.series(count))[:count]

    @property
    def amplitude(self) -> float:
        return self.left.amplitude * self.right.amplitude

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        left = self.left.frequencies(rng.child("left"), count, n_features)
        return left + self.right.frequencies(rng.child("right"), count, n_features)


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """k(x, y) = weight kernel(x, y)."""

    weight: float
    kernel: Kernel

    def __post_init__(self) -> None:
        check_positive("the weight of a kernel", self.weight)
        _check_kernel("kernel", self.kernel)

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, Sum | Product | Scaled) else repr(self.kernel)
        return f"{format_value(self.weight)} * {inner}"

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.weight * self.kernel._block(X, Y)

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        return self.weight * self.kernel._diagonal(X)

    def value(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weight * self.kernel.value(t)

    def check_rows(self, X: Any) -> None:
        self.kernel.check_rows(X)

    @property
    def is_dot_product(self) -> bool:
        return self.kernel.is_dot_product

    @property
    def is_shift_invariant(self) -> bool:
        return self.kernel.is_shift_invariant

    @property
    def max_degree(self) -> int | None:
        return self.kernel.max_degree

    @property
    def radius(self) -> float:
        return self.kernel.radius

    def series(self, count: int) -> NDArray[np.float64]:
        return self.weight * self.kernel.series(count)

    @property
    def amplitude(self) -> float:
        return self.weight * self.kernel.amplitude

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        return self.kernel.frequencies(rng, count, n_features)


@dataclass(frozen=True, repr=False)
class Composition(Kernel):
    """k(x, y) = f(inner(x, y)) for a dot-product kernel f(<x, y>); made by ``outer.of(inner)``.

    >>> from mercer.kernels import Gaussian, Polynomial
    >>> Polynomial(2, coef0=1.0).of(Gaussian(0.5))
    Polynomial(degree=2, gamma=1.0, coef0=1.0).of(Gaussian(gamma=0.5))
    """

    outer: Kernel
    inner: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.outer, Kernel) or not self.outer.is_dot_product:
            raise TypeError(f"only a dot-product kernel can be composed over another, found {self.outer!r}")
        _check_kernel("inner", self.inner)
        try:
            self.outer.check_resolved()
        except ValueError as error:
            message = f"{self.outer!r} of a composition sees kernel values, not rows: give its gamma as a number"
            raise ValueError(message) from error

    def __repr__(self) -> str:
        outer = f"({self.outer!r})" if isinstance(self.outer, Sum | Product | Scaled) else repr(self.outer)
        return f"{outer}.of({self.inner!r})"

    def _block(self, X: Any, Y: Any) -> NDArray[np.float64]:
        return self.outer.value(self.inner._block(X, Y))

    def _diagonal(self, X: Any) -> NDArray[np.float64]:
        return self.outer.value(self.inner._diagonal(X))

    def check_rows(self, X: Any) -> None:
        self.inner.check_rows(X)
        if np.isfinite(self.outer.radius):
            with np.errstate(over="ignore", invalid="ignore"):
                diagonal = self.inner._diagonal(to_numpy(X).astype(np.float64))
            self.outer.check_arguments(diagonal, "inner kernel value")

    @property
    def is_shift_invariant(self) -> bool:
        return self.inner.is_shift_invariant

    @property
    def amplitude(self) -> float:
        top = np.array([self.inner.amplitude])
        self.outer.check_arguments(top, "inner kernel value")
        return float(self.outer.value(top)[0])

    def _weights(self) -> NDArray[np.float64]:
        """What every degree of the outer series contributes to the amplitude."""
        end = self.outer.max_degree
        for length in SERIES_LENGTHS if end is None else (end + 1,):
            series = self.outer.series(length)
            with np.errstate(over="ignore", invalid="ignore"):
                weights = np.where(series > 0, series * self.inner.amplitude ** np.arange(length), 0.0)
            if np.isclose(weights.sum(), self.amplitude, rtol=1e-6, atol=0.0):
                return weights
        raise ValueError(f"the terms of {self!r} do not add up to its value at 0: scale the inner kernel down")

    def series_length(self) -> int:
        """How many degrees of the outer series make up the amplitude."""
        return len(self._weights())

    def frequencies(self, rng: Stream, count: int, n_features: int) -> NDArray[np.float64]:
        """A frequency of f(k) is the sum of N frequencies of k, N drawn with the weight of its degree."""
        terms = rng.child("terms").categories(self._weights(), count)
        ends = np.concatenate([[0], np.cumsum(terms)])
        inner = self.inner.frequencies(rng.child("inner"), int(ends[-1]), n_features)
        add = sp.csr_array((np.ones(ends[-1]), np.arange(ends[-1]), ends), shape=(count, int(ends[-1])))
        return add @ inner
