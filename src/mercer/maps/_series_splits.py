"""Ways to write a kernel as a series in a small inner product.

Every split has the form ``k(x, y) = sum_n b_n s_n(x) s_n(y) <r(x), r(y)>^n`` with scalars s_n and residual rows r: the
closer the residuals are to 0, the fewer degrees matter. The vector that a split learns, a direction or a centre, is a
parameter of the map; a vector of zeros means that nothing is split off.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from .._array import Array, dense, namespace, product, squares
from .._rows import Rows
from ..kernels import Exponential, Gaussian, Kernel, Scaled
from ._polynomial import HomogeneousForm, homogeneous_form

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


NO_MEAN = 1e-10
"""Relative to the rows, a mean shorter than this is rounding: its direction would differ between machines."""


def mean_row(rows: Rows) -> tuple[Vector, float]:
    """Return the mean of all rows, and the mean of their squared norms."""
    total, energy, count = np.zeros(rows.n_features), 0.0, 0
    for block in rows.blocks():
        total += np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
        energy += float(squares(block.astype(np.float64)).sum())
        count += block.shape[0]
    return total / count, energy / count


class Split(ABC):
    """A way to split a kernel."""

    max_degree: int | None = None
    learns: str | None = None
    """The name, in ``split=``, of the vector that can be learned."""

    @abstractmethod
    def learn(self, rows: Rows) -> Vector:
        """Learn the vector from rows."""

    @abstractmethod
    def neutral(self, n_features: int) -> Vector:
        """Return the vector that splits nothing off."""

    @abstractmethod
    def series(self, count: int) -> Vector:
        """Return b_0, b_1, ..."""

    @abstractmethod
    def residual(self, X: Array, vector: Array) -> Array:
        """Compute the residual rows r(x)."""

    def scalar(self, X: Array, vector: Array) -> Array | None:
        """Compute one number per row from which s_n(x) is made."""
        return None

    def scale(self, scalar: Array | None, degree: int) -> Array | None:
        """Compute s_n(x); None stands for 1."""
        return scalar

    def scale_slope(self, scalar: Vector, degree: int) -> Any:
        """Compute the derivative of s_n with respect to the scalar."""
        return 1.0

    def pull(self, X: Matrix, vector: Vector, of_residual: Matrix, of_scalar: Vector | None) -> Matrix:
        """Compute derivatives with respect to the rows from those with respect to residuals and scalars."""
        return of_residual

    def width(self, n_features: int) -> int:
        """Return the width of r(x)."""
        return n_features


class SeriesSplit(Split):
    """The plain series of any dot-product kernel, with nothing split off."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.max_degree = kernel.max_degree

    def learn(self, rows: Rows) -> Vector:
        raise AssertionError("a plain series learns nothing")

    def neutral(self, n_features: int) -> Vector:
        return np.zeros(0)

    def series(self, count: int) -> Vector:
        return self.kernel.series(count)

    def residual(self, X: Array, vector: Array) -> Array:
        return X


class DirectionSplit(Split):
    """The split <x, y>^p = sum C(p, n) (x_0 y_0)^(p-n) <r, r'>^n with x_0 = <x, u> and r = x - x_0 u.

    Here x is the lifted row (scale x, constant), which covers inhomogeneous polynomials: if u is the constant's
    coordinate, the result is their own series; if u is the direction of the mean, the residuals are smallest.
    """

    learns = "mean"

    def __init__(self, form: HomogeneousForm):
        self.form = form
        self.max_degree = form.degree

    def learn(self, rows: Rows) -> Vector:
        mean, energy = mean_row(rows)
        direction = self.form.lift(mean[None, :])[0]
        norm = float(np.linalg.norm(direction))
        lifted = float(np.sqrt(self.form.scale**2 * energy + self.form.constant**2))
        return direction / norm if norm > NO_MEAN * lifted else self.neutral(rows.n_features)

    def neutral(self, n_features: int) -> Vector:
        vector = np.zeros(self.width(n_features))
        vector[-1] = float(self.form.constant != 0.0)
        return vector

    def width(self, n_features: int) -> int:
        return self.form.width(n_features)

    def series(self, count: int) -> Vector:
        return self.form.weight * comb(self.form.degree, np.arange(count))

    def residual(self, X: Array, vector: Array) -> Array:
        lifted = self.form.lift(X)
        return dense(lifted) - product(lifted, vector)[:, None] * vector

    def scalar(self, X: Array, vector: Array) -> Array | None:
        return product(self.form.lift(X), vector)

    def scale(self, scalar: Array | None, degree: int) -> Array | None:
        return None if scalar is None else scalar ** (self.form.degree - degree)

    def scale_slope(self, scalar: Vector, degree: int) -> Any:
        power = self.form.degree - degree
        return power * scalar ** (power - 1) if power else np.zeros_like(scalar)

    def pull(self, X: Matrix, vector: Vector, of_residual: Matrix, of_scalar: Vector | None) -> Matrix:
        assert of_scalar is not None
        lifted = of_residual + np.outer(of_scalar - of_residual @ vector, vector)
        return self.form.scale * lifted[:, : X.shape[1]]


class CentreSplit(Split):
    """The split of exp(g <x, y>) and of the Gaussian about a centre m, with r = x - m and one scalar per row.

    The Gaussian is exp(-g ||r||^2) exp(-g ||r'||^2) exp(2 g <r, r'>), and exp(g <x, y>) is
    exp(g <m, x> - g ||m||^2 / 2) times the same of y times exp(g <r, r'>).
    """

    learns = "centre"

    def __init__(self, kernel: Gaussian | Exponential, weight: float):
        self.kernel, self.gaussian = kernel, isinstance(kernel, Gaussian)
        self.gamma = kernel.width if isinstance(kernel, Gaussian) else float(kernel.gamma)
        self.weight = weight

    def learn(self, rows: Rows) -> Vector:
        return self.kernel.coordinates(mean_row(rows)[0][None, :])[0]

    def neutral(self, n_features: int) -> Vector:
        return np.zeros(n_features)

    def series(self, count: int) -> Vector:
        return self.weight * Exponential(self.gamma * (2.0 if self.gaussian else 1.0)).series(count)

    def residual(self, X: Array, vector: Array) -> Array:
        return dense(self.kernel.coordinates(X)) - vector

    def scalar(self, X: Array, vector: Array) -> Array | None:
        xp = namespace(X)
        if self.gaussian:
            return xp.exp(-self.gamma * squares(self.residual(X, vector)))
        with np.errstate(over="ignore"):  # features that overflow are refused, with their row
            return xp.exp(self.gamma * (product(X, vector) - xp.sum(vector * vector) / 2.0))

    def pull(self, X: Matrix, vector: Vector, of_residual: Matrix, of_scalar: Vector | None) -> Matrix:
        assert of_scalar is not None
        factor = self.gamma * of_scalar * np.asarray(self.scalar(X, vector))
        if self.gaussian:
            found = of_residual - 2.0 * factor[:, None] * self.residual(X, vector)
        else:
            found = of_residual + np.outer(factor, vector)
        return found * self.kernel.coordinate_slopes(X)


def split_of(kernel: Kernel) -> Split | None:
    """Return the split for a kernel, or None."""
    weight, inner = 1.0, kernel
    while isinstance(inner, Scaled):
        weight, inner = weight * float(inner.weight), inner.kernel
    form = homogeneous_form(kernel)
    if form is not None:
        return DirectionSplit(form)
    if isinstance(inner, Gaussian | Exponential):
        return CentreSplit(inner, weight)
    return SeriesSplit(kernel) if kernel.is_dot_product else None
