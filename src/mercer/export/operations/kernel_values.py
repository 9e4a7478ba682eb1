"""Kernel values at landmarks, one function for every kind of kernel.

Kernels evaluate themselves by the compiled core; here are the same formulas in operators. A kernel that is not listed
is not exported, and the error says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...kernels import (
    AdditiveChi2,
    Cauchy,
    Exponential,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    Kernel,
    Laplacian,
    Linear,
    Maclaurin,
    Matern,
    Polynomial,
    SkewedChi2,
    SkewedIntersection,
    VovkInfinite,
    VovkReal,
)
from ...kernels.algebra import Product, Scaled, Sum
from ...kernels.column_bandwidths import ColumnBandwidths
from ...kernels.composition import Composition, DistanceComposition
from ...kernels.families import DotProduct, ShiftInvariant
from .. import namespace as xp
from ..errors import NotExportedError
from ..symbol import ROWS, Symbol

Matrix = NDArray[np.float64]

FAR = 1e140
"""An entry whose square has room for sums, and at which kernels of distances are 0."""


def kernel_values(X: Symbol, kernel: Kernel, landmarks: Any) -> Symbol:
    """Return the values of a kernel for rows in float64 and landmarks."""
    return gram(kernel, X, landmarks.toarray() if sp.issparse(landmarks) else landmarks)


@singledispatch
def gram(kernel: Kernel, X: Symbol, L: Matrix) -> Symbol:
    """Return the values of a kernel for rows and landmarks."""
    if isinstance(kernel, DotProduct):
        return value(kernel, X @ L.T)
    raise NotExportedError(f"the kernel {kernel!r} has no formula in standard operators")


@singledispatch
def value(kernel: Kernel, t: Symbol) -> Symbol:
    """Return f(t) of a dot-product kernel."""
    raise NotExportedError(f"the kernel {kernel!r} has no formula in standard operators")


@singledispatch
def radial(kernel: Kernel, squares: Symbol) -> Symbol:
    """Return the kernel's function g of the squared distances."""
    raise NotExportedError(f"the kernel {kernel!r} has no formula in standard operators")


@singledispatch
def diagonal(kernel: Kernel, X: Symbol) -> Symbol:
    """Return k(x, x) of rows in float64."""
    if isinstance(kernel, DotProduct):
        return value(kernel, xp.sum(X * X, axis=1))
    if isinstance(kernel, ShiftInvariant | SkewedChi2 | SkewedIntersection):
        return xp.ones((ROWS,), dtype=X.dtype, device=X.device)
    raise NotExportedError(f"the diagonal of {kernel!r} has no formula in standard operators")


# -- dot products ------------------------------------------------------------------------------------------------------


@value.register
def _(kernel: Linear, t: Symbol) -> Symbol:
    return t


@value.register
def _(kernel: Polynomial, t: Symbol) -> Symbol:
    return (t * float(kernel.gamma) + kernel.coef0) ** int(kernel.degree)


@value.register
def _(kernel: Exponential, t: Symbol) -> Symbol:
    return xp.exp(t * float(kernel.gamma))


@value.register
def _(kernel: VovkReal, t: Symbol) -> Symbol:
    return horner((1.0,) * int(kernel.degree), t)


@value.register
def _(kernel: VovkInfinite, t: Symbol) -> Symbol:
    return 1.0 / (1.0 - t)


@value.register
def _(kernel: Maclaurin, t: Symbol) -> Symbol:
    if callable(kernel.coefficients):
        raise NotExportedError(f"the coefficients of {kernel!r} are a function, so its series is infinite")
    return horner(kernel.coefficients, t)


def horner(coefficients: tuple[float, ...], t: Symbol) -> Symbol:
    """Evaluate a polynomial by Horner's rule."""
    found = t * 0.0 + float(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        found = found * t + float(coefficient)
    return found


# -- kernels of distances ----------------------------------------------------------------------------------------------


def squared_distances(X: Symbol, L: Matrix) -> Symbol:
    """Return squared distances, computed from an origin near the landmarks to avoid cancellation.

    Of rows so far away that their squares overflow, they would be the difference of infinities, which is NaN.
    """
    origin = L.mean(axis=0)
    rows, others = xp.minimum(xp.maximum(X - origin, -FAR), FAR), L - origin
    norms = xp.sum(rows * rows, axis=1, keepdims=True) + np.einsum("ij,ij->i", others, others)
    return xp.maximum(norms - 2.0 * (rows @ others.T), 0.0)


def coordinates(kernel: ColumnBandwidths, X: Any) -> Any:
    """Return rows with every column in units of its bandwidth."""
    return X if kernel.factors is None else X * kernel.factors


def over_columns(term: Callable[[Symbol, Matrix], Symbol], X: Symbol, L: Matrix) -> list[Symbol]:
    """Return the sum of a term over columns, without an array of size rows x landmarks x columns."""
    return [term(X[:, place : place + 1], L[:, place]) for place in range(L.shape[1])]


@gram.register
def _(kernel: Gaussian | Matern, X: Symbol, L: Matrix) -> Symbol:
    return radial(kernel, squared_distances(coordinates(kernel, X), coordinates(kernel, L)))


@radial.register
def _(kernel: Gaussian, squares: Symbol) -> Symbol:
    return xp.exp(squares * -kernel.width)


@radial.register
def _(kernel: Matern, squares: Symbol) -> Symbol:
    if kernel.nu not in (0.5, 1.5, 2.5):
        raise NotExportedError(
            f"Matern(nu={kernel.nu}) needs Bessel functions, for which there is no standard operator"
        )
    z = xp.minimum(xp.sqrt(squares * (2.0 * kernel.nu)) * (1.0 / kernel.width), 1e100)
    decay = xp.exp(-z)
    if kernel.nu == 0.5:
        return decay
    return ((1.0 + z) if kernel.nu == 1.5 else (1.0 + z + z * z * (1.0 / 3.0))) * decay


@gram.register
def _(kernel: Laplacian, X: Symbol, L: Matrix) -> Symbol:
    terms = over_columns(lambda x, y: abs(x - y), coordinates(kernel, X), coordinates(kernel, L))
    return xp.exp(added(terms) * -kernel.width)


@gram.register
def _(kernel: Cauchy, X: Symbol, L: Matrix) -> Symbol:
    def factor(x: Symbol, y: Matrix) -> Symbol:
        away = (x - y) * kernel.width
        return away * away + 1.0

    return 1.0 / multiplied(over_columns(factor, coordinates(kernel, X), coordinates(kernel, L)))


@gram.register
def _(kernel: SkewedChi2, X: Symbol, L: Matrix) -> Symbol:
    def factor(x: Symbol, y: Matrix) -> Symbol:
        away = (x - y) * 0.5
        return (xp.exp(away) + xp.exp(-away)) * 0.5

    return 1.0 / multiplied(over_columns(factor, kernel.coordinates(X), kernel.coordinates(L)))


@gram.register
def _(kernel: SkewedIntersection, X: Symbol, L: Matrix) -> Symbol:
    terms = over_columns(lambda x, y: abs(x - y), kernel.coordinates(X), kernel.coordinates(L))
    return xp.exp(added(terms) * -0.5)


def added(terms: list[Symbol]) -> Symbol:
    """Return the sum of some arrays."""
    return sum(terms[1:], start=terms[0])


def multiplied(terms: list[Symbol]) -> Symbol:
    """Return the product of some arrays."""
    return math.prod(terms[1:], start=terms[0])


# -- histograms --------------------------------------------------------------------------------------------------------


def where_both(term: Callable[[Any, Any], Symbol]) -> Callable[[Symbol, Matrix], Symbol]:
    """Return a term that is 0 if one of the values is 0; it is given both values with zeros replaced by 1."""

    def part(x: Symbol, y: Matrix) -> Symbol:
        found = term(xp.where(x > 0.0, x, 1.0), np.where(y > 0.0, y, 1.0))
        return xp.where(x > 0.0, found, 0.0) * (y > 0.0).astype(np.float64)

    return part


@gram.register
def _(kernel: AdditiveChi2, X: Symbol, L: Matrix) -> Symbol:
    return added(over_columns(where_both(lambda x, y: (x * 2.0) / (x + y) * y), X, L))


@gram.register
def _(kernel: Intersection, X: Symbol, L: Matrix) -> Symbol:
    return added(over_columns(xp.minimum, X, L))


@gram.register
def _(kernel: JensenShannon, X: Symbol, L: Matrix) -> Symbol:
    def term(x: Any, y: Any) -> Symbol:
        both = xp.log(x + y)
        return (x * (both - xp.log(x)) + y * (both - np.log(y))) * (0.5 / math.log(2.0))

    return added(over_columns(where_both(term), X, L))


@gram.register
def _(kernel: Hellinger, X: Symbol, L: Matrix) -> Symbol:
    return xp.sqrt(X) @ np.sqrt(L).T


@diagonal.register
def _(kernel: AdditiveChi2 | Intersection | JensenShannon | Hellinger, X: Symbol) -> Symbol:
    return xp.sum(X, axis=1)


# -- kernels of kernels ------------------------------------------------------------------------------------------------


def _each(function: Any) -> None:
    """Export sums, products, multiples and compositions of kernels, applying ``function`` to their parts."""

    @function.register
    def _(kernel: Sum, *arguments: Any) -> Symbol:
        return function(kernel.left, *arguments) + function(kernel.right, *arguments)

    @function.register
    def _(kernel: Product, *arguments: Any) -> Symbol:
        return function(kernel.left, *arguments) * function(kernel.right, *arguments)

    @function.register
    def _(kernel: Scaled, *arguments: Any) -> Symbol:
        return function(kernel.kernel, *arguments) * float(kernel.weight)

    @function.register
    def _(kernel: Composition, *arguments: Any) -> Symbol:
        return value(kernel.outer, function(kernel.inner, *arguments))


for one in (gram, value, radial, diagonal):
    _each(one)


@gram.register
def _(kernel: DistanceComposition, X: Symbol, L: Matrix) -> Symbol:
    norms = diagonal(kernel.inner, X)[:, None] + kernel.inner.diagonal(L)
    return radial(kernel.outer, xp.maximum(norms - 2.0 * gram(kernel.inner, X, L), 0.0))


@diagonal.register
def _(kernel: DistanceComposition, X: Symbol) -> Symbol:
    return xp.ones((ROWS,), dtype=X.dtype, device=X.device) * float(kernel.outer.radial(np.zeros(1))[0])
